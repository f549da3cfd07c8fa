import type { ExtensionUI } from "../api/extension-ui.ts";
import type { ExtensionScope } from "./scope.ts";

/** Who showed what last: an extension takes away only what is still its own. */
export type ShownBy = Map<string, ExtensionScope>;

/** The user interface of one extension: what it shows goes away with it, and nothing is shown for it after that. */
export function scopedUi(ui: ExtensionUI, scope: ExtensionScope, shownBy: ShownBy): ExtensionUI {
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
  return {
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
    setWidget(key, lines, options) {
      if (scope.isUnloaded) return;
      ui.setWidget(key, lines, options);
      show(`widget ${key}`, lines !== undefined, () => ui.setWidget(key, undefined, options));
    },
    setTitle: (title) => ui.setTitle(title),
    setEditorText: (text) => ui.setEditorText(text),
    getEditorText: () => ui.getEditorText(),
  };
}
