import type { ComponentPlace, ComponentTui, CustomOptions, FrontEndDrawing } from "@bonsai-agent/extension";
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
  let early: { value: Value | undefined } | undefined;
  let leave: ((value: Value | undefined) => void) | undefined;
  const done = (value: Value | undefined) => {
    if (leave === undefined) early ??= { value };
    else leave(value);
  };
  const making = Promise.resolve(make({ tui, keybindings: extensionKeybindings, done }));
  const drawn = await untilAborted(making, end);
  if (drawn === undefined) {
    // It comes when nobody wants it any more.
    making.then(
      (late) => late.dispose(),
      () => {},
    );
    return undefined;
  }
  try {
    if (early !== undefined) return early.value;
    const panel = new CustomPanel(drawn, screen);
    const take = (left: (value: Value | undefined) => void) => {
      leave = left;
      return panel;
    };
    if (options.overlay !== true) return await screen.show<Value>(take, end);
    return await screen.showOver<Value>(take, {
      ...{ options: overlayOptions(options.overlayOptions), signal: end },
      ...(options.onHandle === undefined ? {} : { onHandle: options.onHandle }),
    });
  } finally {
    drawn.dispose();
  }
}

function overlayOptions(given: CustomOptions["overlayOptions"]): OverlayOptions {
  return (typeof given === "function" ? given() : given) ?? {};
}
