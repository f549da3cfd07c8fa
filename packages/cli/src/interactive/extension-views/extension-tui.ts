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

interface ExtensionTui {
  tui: ComponentTui;
  /** The component that gets the keys; undefined: the drawn one. */
  focused(): Component | undefined;
  /** Removes the component's own overlays. */
  leave(): void;
}

/** The interface for components, and the library's methods that pi's components use. Guards their overlays. */
export function extensionTui(screen: Screen, notify: (message: string) => void): ExtensionTui {
  const { tui } = screen;
  const laid = new Set<OverlayHandle>();
  let focused: { component: Component; guarded: Component } | undefined;
  const all = {
    mode: tui.mode,
    terminal: tui.terminal,
    requestRender: (isAll?: boolean) => tui.requestRender(isAll === true),
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
  const leave = () => {
    for (const handle of laid) handle.hide();
  };
  return { tui: all as ComponentTui, leave, focused: () => focused?.guarded };
}

/** The keys of Bonsai's actions and of the library's. */
export const extensionKeybindings: ComponentKeybindings = {
  matches: (data, action) =>
    extensionKeybindings.getKeys(action).some((key) => matchesKey(data, key as KeyId)),
  getKeys: (action) => keys.keysOf(action as Keybinding),
};

/** A component that throws draws nothing from then on. */
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

// Allowed sequences: styles, links and the cursor. A component can have others from a file or a model.
// biome-ignore lint/suspicious/noControlCharactersInRegex: it finds them
const allowed = /(\x1b\[[\d;:]*m|\x1b\]8;[^\x00-\x1f]*(?:\x07|\x1b\\)|\x1b_pi:c\x07)/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a text without them needs no care
const control = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

// biome-ignore lint/suspicious/noControlCharactersInRegex: an image begins with one
const image = /\x1b(?:_G|\]1337;File=)/;

/** Makes an extension's lines harmless and cuts them to the width. */
export function drawnLines(lines: readonly string[], width: number): string[] {
  return lines.flatMap(safeLines).map((line) => {
    // An open colour would continue in the next line.
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
