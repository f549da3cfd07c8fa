import type {
  ComponentPlace,
  ComponentTui,
  CustomOptions,
  DrawnComponent,
  FrontEndDrawing,
} from "@bonsai-agent/extension";
import { untilAborted } from "../../extensions/dialog-end.ts";
import type { Screen } from "../screen.ts";
import type { OverlayHandle, OverlayOptions } from "../terminal/tui.ts";
import { CustomPanel } from "./custom-panel.ts";
import { extensionKeybindings } from "./extension-tui.ts";

type Make<Value> = Parameters<FrontEndDrawing["custom"]>[0] &
  ((place: ComponentPlace<Value>) => ReturnType<Parameters<FrontEndDrawing["custom"]>[0]>);

export interface ShowCustomOptions extends CustomOptions {
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
export async function showCustom<Value>(
  make: Make<Value>,
  options: ShowCustomOptions,
): Promise<Value | undefined> {
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
