import type { AgentNotice } from "@bonsai-agent/agent";
import type { ExtensionUI } from "../api/extension-ui.ts";
import { type DrawnComponent, drawnComponent } from "./drawn-component.ts";
import { failureText } from "./extension-errors.ts";
import { runOf } from "./extension-work.ts";
import type { FrontEndDrawing, FrontEndUI } from "./front-end-ui.ts";
import { plainTheme } from "./plain-theme.ts";
import type { ExtensionScope } from "./scope.ts";

export interface ScopedDrawingOptions {
  scope: ExtensionScope;
  onNotice: (notice: AgentNotice) => void;
  /** Remembers that something of the extension is shown, or no longer is. */
  show: (key: string, isShown: boolean, takeAway: () => void) => void;
}

type ScopedDrawing = Pick<ExtensionUI, keyof FrontEndDrawing & keyof ExtensionUI> & {
  /** A widget that is a component. */
  showWidget(...args: Parameters<ExtensionUI["setWidget"]>): void;
};

/** What one extension draws. Nothing of its code can break the screen: what fails is told, and is gone. */
export function scopedDrawing(ui: FrontEndUI, options: ScopedDrawingOptions): ScopedDrawing {
  const { scope, show } = options;
  const theme = ui.theme ?? plainTheme;
  const made = (call: string, make: () => unknown) => drawn(runOf(scope, make), { ...options, call });
  return {
    theme,
    custom: customOf(ui, options),
    showWidget(key, content, placed) {
      if (typeof content !== "function" || ui.showWidget === undefined) return;
      ui.showWidget(key, (tui) => made("ctx.ui.setWidget", () => content(tui, theme)), placed);
      show(`widget ${key}`, true, () => ui.setWidget(key, undefined, placed));
    },
    setFooter(factory) {
      if (scope.isUnloaded) return;
      ui.setFooter?.(factory && ((tui, data) => made("ctx.ui.setFooter", () => factory(tui, theme, data))));
      show("footer", factory !== undefined, () => ui.setFooter?.(undefined));
    },
    setHeader(factory) {
      if (scope.isUnloaded) return;
      ui.setHeader?.(factory && ((tui) => made("ctx.ui.setHeader", () => factory(tui, theme))));
      show("header", factory !== undefined, () => ui.setHeader?.(undefined));
    },
    setWorkingMessage(message) {
      if (scope.isUnloaded) return;
      ui.setWorkingMessage?.(message);
      show("working message", message !== undefined, () => ui.setWorkingMessage?.(undefined));
    },
    getToolsExpanded: () => ui.getToolsExpanded?.() === true,
    setToolsExpanded(isExpanded) {
      if (!scope.isUnloaded) ui.setToolsExpanded?.(isExpanded === true);
    },
  };
}

function customOf(ui: FrontEndUI, options: ScopedDrawingOptions): ExtensionUI["custom"] {
  const { scope } = options;
  const theme = ui.theme ?? plainTheme;
  return (factory, settings = {}) =>
    untilUnloaded(scope, settings.signal, async (signal) =>
      ui.custom?.(
        async ({ tui, keybindings, done }) => {
          const made = await runOf(scope, () => factory(tui, theme, keybindings, done));
          // Not while a frame is being drawn.
          const onFailure = () => queueMicrotask(() => done(undefined));
          return drawn(made, { ...options, call: "ctx.ui.custom", onFailure });
        },
        { ...settings, signal },
      ),
    );
}

interface DrawnOptions extends Pick<ScopedDrawingOptions, "scope" | "onNotice"> {
  /** As its author calls it. */
  call: string;
  onFailure?: () => void;
}

/** @throws BonsaiError `extension_argument_invalid` for what is no component */
function drawn(made: unknown, { scope, call, onNotice, onFailure = () => {} }: DrawnOptions): DrawnComponent {
  return drawnComponent(made, {
    ...{ scope, call },
    onFailure(error) {
      const message = failureText(`The component of ${call} of ${scope.source}`, error);
      onNotice({ level: "warning", code: "extension_component_failed", message });
      onFailure();
    },
  });
}

/** Nothing is begun for an extension that is gone, and what goes on ends with it. */
async function untilUnloaded<Value>(
  scope: ExtensionScope,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Value | undefined>,
): Promise<Value | undefined> {
  if (scope.isUnloaded) return undefined;
  const unloaded = new AbortController();
  const release = scope.keep(() => unloaded.abort());
  try {
    return await work(AbortSignal.any([...(signal === undefined ? [] : [signal]), unloaded.signal]));
  } finally {
    release();
  }
}
