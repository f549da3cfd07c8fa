import type { AgentNotice } from "@bonsai-agent/agent";
import type { ExtensionUI } from "../api/extension-ui.ts";
import type { FrontEndUI } from "./front-end-ui.ts";
import type { ExtensionScope } from "./scope.ts";
import { scopedDrawing } from "./scoped-drawing.ts";

/** Who showed what last: an extension takes away only what is still its own. */
export type ShownBy = Map<string, ExtensionScope>;

export interface ScopedUiOptions {
  scope: ExtensionScope;
  shownBy: ShownBy;
  onNotice: (notice: AgentNotice) => void;
}

/** The user interface of one extension: what it shows goes away with it, and nothing is shown for it after that. */
export function scopedUi(ui: FrontEndUI, { scope, shownBy, onNotice }: ScopedUiOptions): ExtensionUI {
  const kept = new Set<string>();
  const show = (key: string, isShown: boolean, takeAway: () => void) => {
    if (isShown) shownBy.set(key, scope);
    else shownBy.delete(key);
    if (!isShown || kept.has(key)) return;
    kept.add(key);
    scope.keep(() => {
      if (shownBy.get(key) !== scope) return;
      shownBy.delete(key);
      takeAway();
    });
  };
  const { showWidget, ...drawing } = scopedDrawing(ui, { scope, onNotice, show });
  return {
    ...drawing,
    select: (...args) => ui.select(...args),
    confirm: (...args) => ui.confirm(...args),
    input: (...args) => ui.input(...args),
    editor: (...args) => ui.editor(...args),
    notify: (...args) => ui.notify(...args),
    setStatus(key, text) {
      if (scope.isUnloaded) return;
      ui.setStatus(key, text);
      show(`status ${key}`, text !== undefined, () => ui.setStatus(key, undefined));
    },
    setWidget(key, content, options) {
      if (scope.isUnloaded) return;
      if (typeof content === "function") return showWidget(key, content, options);
      ui.setWidget(key, content, options);
      show(`widget ${key}`, content !== undefined, () => ui.setWidget(key, undefined, options));
    },
    setTitle: (title) => ui.setTitle(title),
    setEditorText: (text) => ui.setEditorText(text),
    getEditorText: () => ui.getEditorText(),
  };
}
