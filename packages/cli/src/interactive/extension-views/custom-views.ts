import type { AgentNotice } from "@bonsai-agent/agent";
import type {
  ComponentPlace,
  CustomOptions,
  DrawnComponent,
  FrontEndDrawing,
} from "@bonsai-agent/extension/host";
import { raceAbort } from "@bonsai-agent/messages/host";
import { dialogEnd } from "../../call/questions.ts";
import { FieldPanel } from "../panels/panel-frame.ts";
import type { Screen } from "../terminal/screen.ts";
import type { Component, OverlayHandle } from "../terminal/tui.ts";
import { drawnLines, extensionKeybindings, extensionTui } from "./extension-tui.ts";

type Make = Parameters<FrontEndDrawing["custom"]>[0];

interface ShowOptions extends CustomOptions {
  /** pi's: called with the handle of an overlay. */
  onHandle?: (handle: OverlayHandle) => void;
}

/**
 * Shows a component of an extension instead of the editor or as an overlay, until it is done.
 * @param untilRest resolves when the user pauses typing
 * @param ended ends the view and open questions
 */
export function customView(
  screen: Screen,
  notify: (message: string, level: AgentNotice["level"]) => void,
  untilRest: (signal: AbortSignal) => Promise<void>,
  ended: AbortSignal,
) {
  return async <Value>(make: Make, options: ShowOptions = {}): Promise<Value | undefined> => {
    const { signal, overlay, overlayOptions, onHandle } = options;
    const end = dialogEnd(ended, { signal });
    const takesNoKeys =
      overlay === true && typeof overlayOptions === "object" && overlayOptions.nonCapturing === true;
    if (!takesNoKeys) await untilRest(end);
    if (end.aborted) return undefined;
    let early: { value: Value | undefined } | undefined;
    let leave: ((value: Value | undefined) => void) | undefined;
    const done: ComponentPlace<Value>["done"] = (value) => {
      if (leave === undefined) early ??= { value };
      else leave(value);
    };
    const { tui, leave: leaveTui, focused } = extensionTui(screen, (message) => notify(message, "warning"));
    let drawn: DrawnComponent | undefined;
    try {
      drawn = await madeUntil(
        end,
        make({ tui, keybindings: extensionKeybindings, done: done as () => void }),
      );
      if (drawn === undefined || early !== undefined) return early?.value;
      const panel = new CustomPanel(drawn, screen, focused);
      const take = (left: (value: Value | undefined) => void) => {
        leave = left;
        return panel;
      };
      if (overlay !== true) return await screen.show<Value>(take, end);
      const placement = overlayPlacement(drawn.component, overlayOptions);
      return await screen.showOver<Value>(take, { options: placement, signal: end, onHandle });
    } finally {
      drawn?.dispose();
      leaveTui();
    }
  };
}

/** As in pi: the default width of an overlay is that of its component. */
function overlayPlacement(
  component: object,
  options: CustomOptions["overlayOptions"],
): NonNullable<Exclude<CustomOptions["overlayOptions"], () => unknown>> {
  if (options !== undefined) return (typeof options === "function" ? options() : options) ?? {};
  const { width } = component as { width?: unknown };
  return typeof width === "number" && width > 0 ? { width } : {};
}

/** Returns undefined at the abort, and disposes a component that comes later. */
async function madeUntil(
  end: AbortSignal,
  made: DrawnComponent | Promise<DrawnComponent>,
): Promise<DrawnComponent | undefined> {
  const making = Promise.resolve(made);
  const drawn = await raceAbort(making, end, () => undefined);
  if (drawn === undefined)
    making.then(
      (late) => late.dispose(),
      () => {},
    );
  return drawn;
}

/** Rows of the footer. */
const otherRows = 2;

class CustomPanel extends FieldPanel<DrawnComponent> {
  readonly #screen: Screen;
  readonly #focused: () => Component | undefined;

  /** @param focused the component that gets the keys; undefined: the drawn one */
  constructor(drawn: DrawnComponent, screen: Screen, focused: () => Component | undefined) {
    super(drawn);
    this.#screen = screen;
    this.#focused = focused;
  }

  get wantsKeyRelease(): boolean {
    return this.field.wantsKeyRelease;
  }

  handleInput(data: string): void {
    (this.#focused() ?? this.field).handleInput?.(data);
    this.#screen.redraw();
  }

  /** Shows the end of a component that is higher than the screen. */
  render(width: number): string[] {
    const lines = this.field.render(width) ?? [];
    const rows = Math.max(3, this.#screen.rows - otherRows);
    return drawnLines(lines.slice(-rows), width).slice(-rows);
  }
}
