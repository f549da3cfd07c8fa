import { shownPath } from "../../shown-path.ts";
import { printable, printableLines } from "../../views/printable.ts";
import { shownKey } from "../keys/key-name.ts";
import { getKeybindings, type Keybinding, truncateToWidth, wrapTextWithAnsi } from "../terminal/tui.ts";
import type { Theme } from "../theme/theme.ts";

/** What a panel needs of the screen. */
export interface PanelPlace {
  readonly theme: Theme;
  /** Of the whole screen. */
  readonly rows: number;
  redraw(): void;
}

/** A key of a panel, as it is shown: what it is called, and what it does. */
export type KeyHint = readonly [key: string, does: string];

/** The line that a panel begins and ends with. */
export function rule(theme: Theme, width: number): string {
  return theme.style.border("─".repeat(Math.max(0, width)));
}

/** A title, wrapped where it has to be, every character harmless. */
export function titleLines(theme: Theme, title: string, width: number): string[] {
  return textLines(title, width).map((line) => theme.style.bold(line));
}

/** Text of whatever origin as lines that fit. */
export function textLines(text: string, width: number): string[] {
  const room = Math.max(1, width - 1);
  return printableLines(text).flatMap((line) =>
    wrapTextWithAnsi(line, room).map((each) => fit(` ${each}`, width)),
  );
}

/** One line of whatever origin, cut where it has to be. */
export function lineOf(text: string, width: number): string {
  return fit(printable(text), width);
}

/** Which keys there are, on as many lines as they need. */
export function hintLines(theme: Theme, hints: readonly KeyHint[], width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const [key, does] of hints) {
    const joined = line === "" ? ` ${key} ${does}` : `${line} · ${key} ${does}`;
    if (line !== "" && joined.length > width) {
      lines.push(line);
      line = ` ${key} ${does}`;
    } else line = joined;
  }
  return [...lines, line].map((each) => theme.style.dim(fit(each, width)));
}

/** A path that is whole, but for the user's home. */
export function wholePath(path: string): string {
  return shownPath(path, path);
}

/** The first key of a binding, as it is shown. */
export function keyName(binding: Keybinding): string {
  const [key] = getKeybindings().getKeys(binding);
  return key === undefined ? "(no key)" : shownKey(key);
}

function fit(text: string, width: number): string {
  return truncateToWidth(text, Math.max(0, width), "…");
}
