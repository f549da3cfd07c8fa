import type { AgentNotice } from "@bonsai-agent/agent";
import { untilAborted } from "@bonsai-agent/app/questions";
import type {
  ComponentPlace,
  ComponentTui,
  CustomOptions,
  DrawnComponent,
  FrontEndDrawing,
} from "@bonsai-agent/extension/host";
import type { Panel, Screen } from "../terminal/screen.ts";
import type { Focusable, OverlayHandle, OverlayOptions } from "../terminal/tui.ts";
import { drawnLines, extensionKeybindings, extensionTui } from "./extension-tui.ts";

interface CustomViewsOptions {
  screen: Screen;
  notify: (message: string, level: AgentNotice["level"]) => void;
  /** Resolves once keys may be taken from the user who types. */
  untilRest: (signal: AbortSignal) => Promise<void>;
  /** Everything that waits for the user ends with it. */
  signal: AbortSignal;
}

/** What extensions show in the place of the editor or over the screen, until it is done. */
export function customViews({
  screen,
  notify,
  untilRest,
  signal: ended,
}: CustomViewsOptions): Pick<FrontEndDrawing, "custom"> {
  return {
    custom(make, options) {
      const { tui, leave } = extensionTui(screen, (message) => notify(message, "warning"));
      return showCustom(make, { ...options, screen, tui, untilRest, ended }).finally(leave);
    },
  };
}

type Make<Value> = Parameters<FrontEndDrawing["custom"]>[0] &
  ((place: ComponentPlace<Value>) => ReturnType<Parameters<FrontEndDrawing["custom"]>[0]>);

interface ShowCustomOptions extends CustomOptions {
  screen: Screen;
  tui: ComponentTui;
  /** Resolves once keys may be taken from the user who types. */
  untilRest: (signal: AbortSignal) => Promise<void>;
  /** The end of everything. */
  ended: AbortSignal;
  /** Of pi: told how to hide an overlay and show it again. */
  onHandle?: (handle: OverlayHandle) => void;
}

/** Shows a component until it is done, also where it is done before it is there. */
async function showCustom<Value>(make: Make<Value>, options: ShowCustomOptions): Promise<Value | undefined> {
  const { screen, tui, ended, signal } = options;
  const end = signal === undefined ? ended : AbortSignal.any([ended, signal]);
  const over = options.overlay === true ? overlayOptions(options.overlayOptions) : undefined;
  if (over?.nonCapturing !== true) await options.untilRest(end);
  if (end.aborted) return undefined;
  let early: { value: Value | undefined } | undefined;
  let leave: ((value: Value | undefined) => void) | undefined;
  const done = (value: Value | undefined) => {
    if (leave === undefined) early ??= { value };
    else leave(value);
  };
  const drawn = await madeUntil(end, make({ tui, keybindings: extensionKeybindings, done }));
  if (drawn === undefined) return undefined;
  try {
    if (early !== undefined) return early.value;
    const panel = new CustomPanel(drawn, screen);
    const take = (left: (value: Value | undefined) => void) => {
      leave = left;
      return panel;
    };
    if (over === undefined) return await screen.show<Value>(take, end);
    return await screen.showOver<Value>(take, {
      ...{ options: over, signal: end },
      ...(options.onHandle === undefined ? {} : { onHandle: options.onHandle }),
    });
  } finally {
    drawn.dispose();
  }
}

/** Undefined at the abort; what comes when nobody wants it any more is disposed of. */
async function madeUntil(
  end: AbortSignal,
  made: DrawnComponent | Promise<DrawnComponent>,
): Promise<DrawnComponent | undefined> {
  const making = Promise.resolve(made);
  const drawn = await untilAborted(making, end);
  if (drawn === undefined)
    making.then(
      (late) => late.dispose(),
      () => {},
    );
  return drawn;
}

function overlayOptions(given: CustomOptions["overlayOptions"]): OverlayOptions {
  return (typeof given === "function" ? given() : given) ?? {};
}

/** What stays of the screen beside a component: the footer. */
const otherRows = 2;

/** A component of an extension, with the keys. */
class CustomPanel implements Panel, Focusable {
  readonly #drawn: DrawnComponent;
  readonly #screen: Screen;

  constructor(drawn: DrawnComponent, screen: Screen) {
    this.#drawn = drawn;
    this.#screen = screen;
  }

  get focused(): boolean {
    return this.#drawn.focused;
  }

  set focused(isFocused: boolean) {
    this.#drawn.focused = isFocused;
  }

  get wantsKeyRelease(): boolean {
    return this.#drawn.wantsKeyRelease;
  }

  handleInput(data: string): void {
    this.#drawn.handleInput(data);
    this.#screen.redraw();
  }

  /** Of what is higher than the screen, the end, as a terminal would show it. */
  render(width: number): string[] {
    const lines = this.#drawn.render(width) ?? [];
    const rows = Math.max(3, this.#screen.rows - otherRows);
    return drawnLines(lines.slice(-rows), width).slice(-rows);
  }

  invalidate(): void {
    this.#drawn.invalidate();
  }
}
