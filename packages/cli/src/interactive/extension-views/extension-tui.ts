import type { ComponentKeybindings, ComponentTui, DrawnComponent } from "@bonsai-agent/extension";
import { keys } from "../keys/keys.ts";
import type { Screen } from "../screen.ts";
import {
  type Component,
  type Keybinding,
  type KeyId,
  matchesKey,
  type OverlayHandle,
  type OverlayOptions,
} from "../terminal/tui.ts";
import { drawnLines } from "./drawn-lines.ts";

/** The terminal as one component gets it. */
export interface ExtensionTui {
  tui: ComponentTui;
  /** Takes away what the component laid over the screen itself: to be called when it is gone. */
  leave(): void;
}

/**
 * What the interface says, and behind it what components of the terminal library ask for. What they lay over the screen
 * themselves cannot break it either.
 */
export function extensionTui(screen: Screen, tell: (message: string) => void): ExtensionTui {
  const { tui } = screen;
  const laid = new Set<OverlayHandle>();
  const more = {
    mode: tui.mode,
    stop: () => screen.stop(),
    start: () => screen.resume(),
    invalidate: () => tui.invalidate(),
    renderNow: () => tui.requestRender(),
    setFocus() {},
    hasOverlay: () => tui.hasOverlay(),
    hideOverlay: () => tui.hideOverlay(),
    showOverlay(component: Component, options?: OverlayOptions) {
      const handle = tui.showOverlay(guarded(component, tell), options);
      laid.add(handle);
      return handle;
    },
    getShowHardwareCursor: () => tui.getShowHardwareCursor(),
    setShowHardwareCursor() {},
  };
  const all = {
    ...more,
    // Of the library, a request can say that all has to be drawn anew.
    requestRender: (isAll?: boolean) => tui.requestRender(isAll === true),
    terminal: tui.terminal,
  };
  const leave = () => {
    for (const handle of laid) handle.hide();
  };
  return { tui: all as ComponentTui, leave };
}

/** Has a component made that leaves the terminal as a whole once it is disposed of. */
export function withOwnTui(
  { tui, leave }: ExtensionTui,
  make: (tui: ComponentTui) => DrawnComponent,
): DrawnComponent {
  const drawn = make(tui);
  return {
    component: drawn.component,
    render: (width) => drawn.render(width),
    handleInput: (data) => drawn.handleInput(data),
    invalidate: () => drawn.invalidate(),
    dispose() {
      leave();
      drawn.dispose();
    },
    get focused() {
      return drawn.focused;
    },
    set focused(isFocused) {
      drawn.focused = isFocused;
    },
    get wantsKeyRelease() {
      return drawn.wantsKeyRelease;
    },
  };
}

/** Of the program's actions and of the terminal library's. */
export const extensionKeybindings: ComponentKeybindings = {
  matches: (data, action) =>
    extensionKeybindings.getKeys(action).some((key) => matchesKey(data, key as KeyId)),
  getKeys: (action) => keys.keysOf(action as Keybinding),
};

/** A component of the library's shape that throws draws nothing from then on. */
function guarded(component: Component, tell: (message: string) => void): Component {
  let hasFailed = false;
  const safely = <Result>(work: () => Result): Result | undefined => {
    if (hasFailed) return undefined;
    try {
      return work();
    } catch (error) {
      hasFailed = true;
      tell(`An overlay of an extension failed: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  };
  return {
    render: (width) => safely(() => drawnLines(component.render(width), width)) ?? [],
    handleInput: (data) => safely(() => component.handleInput?.(data)),
    invalidate: () => safely(() => component.invalidate()),
  };
}
