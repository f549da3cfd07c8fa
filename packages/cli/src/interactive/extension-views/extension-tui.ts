import type { ComponentKeybindings, ComponentTui } from "@bonsai-agent/extension/host";
import { printableLines } from "../../views/terminal-text.ts";
import { keys } from "../terminal/keys.ts";
import type { Screen } from "../terminal/screen.ts";
import {
  type Component,
  type Keybinding,
  type KeyId,
  matchesKey,
  type OverlayHandle,
  type OverlayOptions,
  truncateToWidth,
  visibleWidth,
} from "../terminal/tui.ts";

/** The terminal as one component gets it. */
interface ExtensionTui {
  tui: ComponentTui;
  /** What the component gives its keys to; undefined: nothing but itself. */
  focused(): Component | undefined;
  /** Takes away what the component laid over the screen itself: to be called when it is gone. */
  leave(): void;
}

/**
 * What the interface has, and behind it what components of the terminal library ask for. What they lay over the screen
 * themselves cannot break it either.
 */
export function extensionTui(screen: Screen, notify: (message: string) => void): ExtensionTui {
  const { tui } = screen;
  const laid = new Set<OverlayHandle>();
  let focused: { component: Component; guarded: Component } | undefined;
  const more = {
    mode: tui.mode,
    stop: () => screen.stop(),
    start: () => screen.resume(),
    invalidate: () => tui.invalidate(),
    renderNow: () => tui.requestRender(),
    setFocus(component: Component | null) {
      if (focused !== undefined && "focused" in focused.component) focused.component.focused = false;
      focused = component === null ? undefined : { component, guarded: guarded(component, notify) };
      if (component !== null && "focused" in component) component.focused = true;
    },
    hasOverlay: () => tui.hasOverlay(),
    hideOverlay: () => tui.hideOverlay(),
    showOverlay(component: Component, options?: OverlayOptions) {
      const handle = tui.showOverlay(guarded(component, notify), options);
      laid.add(handle);
      return handle;
    },
    getShowHardwareCursor: () => tui.getShowHardwareCursor(),
    setShowHardwareCursor() {},
  };
  const all = {
    ...more,
    // Of the library, a request can be for all to be drawn anew.
    requestRender: (isAll?: boolean) => tui.requestRender(isAll === true),
    terminal: tui.terminal,
  };
  const leave = () => {
    for (const handle of laid) handle.hide();
  };
  return { tui: all as ComponentTui, leave, focused: () => focused?.guarded };
}

/** Of the program's actions and of the terminal library's. */
export const extensionKeybindings: ComponentKeybindings = {
  matches: (data, action) =>
    extensionKeybindings.getKeys(action).some((key) => matchesKey(data, key as KeyId)),
  getKeys: (action) => keys.keysOf(action as Keybinding),
};

/** A component of the library's shape that throws draws nothing from then on. */
function guarded(component: Component, notify: (message: string) => void): Component {
  let hasFailed = false;
  const safely = <Result>(draw: () => Result): Result | undefined => {
    if (hasFailed) return undefined;
    try {
      return draw();
    } catch (error) {
      hasFailed = true;
      notify(`An extension's overlay failed: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  };
  return {
    render: (width) => safely(() => drawnLines(component.render(width), width)) ?? [],
    handleInput: (data) => safely(() => component.handleInput?.(data)),
    invalidate: () => safely(() => component.invalidate()),
  };
}

// What a component may write beside texts: looks, links, and where the cursor stands. It can have got anything else from a
// file or a model, and would hand it to the terminal.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const allowed = /(\x1b\[[\d;:]*m|\x1b\]8;[^\x00-\x1f]*(?:\x07|\x1b\\)|\x1b_pi:c\x07)/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a text without them needs no care
const control = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

// biome-ignore lint/suspicious/noControlCharactersInRegex: what an image begins with
const image = /\x1b(?:_G|\]1337;File=)/;

/** What a component of an extension drew, as lines that fit and can do no harm. */
export function drawnLines(lines: readonly string[], width: number): string[] {
  return lines.flatMap(safeLines).map((line) => {
    // Colours that were not closed would go on into the next line.
    const cut = visibleWidth(line) > width ? truncateToWidth(line, width, "") : line;
    return line.includes("\u001b[") ? `${cut}\u001b[0m` : cut;
  });
}

function safeLines(line: string): string[] {
  if (!control.test(line)) return [line];
  if (image.test(line)) return ["[image]"];
  const pieces = line.split(allowed);
  const safe = pieces.map((piece, at) => (at % 2 === 1 ? piece : printableLines(piece).join("\n")));
  return safe.join("").split("\n");
}
