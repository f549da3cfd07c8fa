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
export function scopedDrawing(
  ui: FrontEndUI,
  { scope, onNotice, show }: ScopedDrawingOptions,
): ScopedDrawing {
  const theme = ui.theme ?? plainTheme;
  const drawn = (made: unknown, call: string, onFailure = () => {}): DrawnComponent =>
    drawnComponent(made, {
      scope,
      call,
      onFailure(error) {
        const message = failureText(`The component of ${call} of ${scope.source}`, error);
        onNotice({ level: "warning", code: "extension_component_failed", message });
        onFailure();
      },
    });
  return {
    theme,
    custom: (factory, options = {}) =>
      untilUnloaded(scope, options.signal, async (signal) =>
        ui.custom?.(
          async ({ tui, keybindings, done }) => {
            const made = await runOf(scope, () => factory(tui, theme, keybindings, done));
            // Not while a frame is being drawn.
            return drawn(made, "ctx.ui.custom", () => queueMicrotask(() => done(undefined)));
          },
          { ...options, signal },
        ),
      ),
    showWidget(key, content, options) {
      if (typeof content !== "function" || ui.showWidget === undefined) return;
      ui.showWidget(
        key,
        (tui) =>
          drawn(
            runOf(scope, () => content(tui, theme)),
            "ctx.ui.setWidget",
          ),
        options,
      );
      show(`widget ${key}`, true, () => ui.setWidget(key, undefined, options));
    },
    setFooter(factory) {
      if (scope.isUnloaded) return;
      ui.setFooter?.(
        factory &&
          ((tui, data) =>
            drawn(
              runOf(scope, () => factory(tui, theme, data)),
              "ctx.ui.setFooter",
            )),
      );
      show("footer", factory !== undefined, () => ui.setFooter?.(undefined));
    },
    setHeader(factory) {
      if (scope.isUnloaded) return;
      ui.setHeader?.(
        factory &&
          ((tui) =>
            drawn(
              runOf(scope, () => factory(tui, theme)),
              "ctx.ui.setHeader",
            )),
      );
      show("header", factory !== undefined, () => ui.setHeader?.(undefined));
    },
    setWorkingMessage(message) {
      if (scope.isUnloaded) return;
      ui.setWorkingMessage?.(message);
      show("working message", message !== undefined, () => ui.setWorkingMessage?.(undefined));
    },
  };
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
