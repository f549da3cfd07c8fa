import { shownPath } from "../../call/paths.ts";
import { printableLines } from "../../views/terminal-text.ts";
import { shownKey } from "../terminal/keys.ts";
import type { Panel } from "../terminal/screen.ts";
import type { Theme } from "../terminal/theme.ts";
import {
  type Component,
  type Focusable,
  getKeybindings,
  Input,
  type Keybinding,
  truncateToWidth,
  wrapTextWithAnsi,
} from "../terminal/tui.ts";
import { asPaste, pastedText } from "../terminal/typed-input.ts";

export interface PanelPlace {
  readonly theme: Theme;
  readonly rows: number;
  redraw(): void;
}

export type KeyHint = readonly [key: string, does: string];

export function rule(theme: Theme, width: number): string {
  return theme.style.border("─".repeat(Math.max(0, width)));
}

/** A wrapped title in printable characters. */
export function titleLines(theme: Theme, title: string, width: number): string[] {
  return textLines(title, width).map((line) => theme.style.bold(line));
}

/** The title of a question, cut to leave room for the answer. */
export function headingLines({ theme, rows }: PanelPlace, title: string, width: number): string[] {
  return titleLines(theme, title, width).slice(0, Math.max(1, rows - 8));
}

/** Any text as printable lines within the width. */
export function textLines(text: string, width: number): string[] {
  return printableLines(text).flatMap((line) =>
    wrapTextWithAnsi(line, Math.max(1, width - 1)).map((each) => fit(` ${each}`, width)),
  );
}

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

/** The lines of a panel between two rules, with the keys at the end. */
export function framed(
  theme: Theme,
  width: number,
  lines: readonly string[],
  hints: readonly KeyHint[],
): string[] {
  return [rule(theme, width), ...lines, ...hintLines(theme, hints, width), rule(theme, width)];
}

/** A whole path, with `~` for the user's home. */
export function wholePath(path: string): string {
  return shownPath(path, path);
}

export function keyName(binding: Keybinding): string {
  const [key] = getKeybindings().getKeys(binding);
  return key === undefined ? "(no key)" : shownKey(key);
}

/** The lines that a key scrolls by; 0 for other keys. */
export function scrollStep(data: string, page: number): number {
  const keys = getKeybindings();
  if (keys.matches(data, "tui.select.up")) return -1;
  if (keys.matches(data, "tui.select.down")) return 1;
  if (keys.matches(data, "tui.select.pageUp")) return -page;
  return keys.matches(data, "tui.select.pageDown") ? page : 0;
}

export abstract class FieldPanel<Field extends Focusable & Pick<Component, "invalidate">>
  implements Panel, Focusable
{
  protected readonly field: Field;

  constructor(field: Field) {
    this.field = field;
  }

  get focused(): boolean {
    return this.field.focused;
  }

  set focused(isFocused: boolean) {
    this.field.focused = isFocused;
  }

  invalidate(): void {
    this.field.invalidate();
  }

  abstract handleInput(data: string): void;
  abstract render(width: number): string[];
}

function fit(text: string, width: number): string {
  return truncateToWidth(text, Math.max(0, width), "…");
}

interface TextFieldOptions {
  theme: Theme;
  value?: string;
  placeholder?: string | undefined;
  /** Shows dots. Default false. */
  isSecret?: boolean;
}

const moves: readonly Keybinding[] = [
  "tui.editor.cursorLeft",
  "tui.editor.cursorRight",
  "tui.editor.cursorWordLeft",
  "tui.editor.cursorWordRight",
  "tui.editor.cursorLineStart",
  "tui.editor.cursorLineEnd",
];

/** A line to type in, with the cursor after the initial text. */
export class TextField extends Input {
  readonly #isSecret: boolean;

  constructor({ theme, value = "", placeholder, isSecret = false }: TextFieldOptions) {
    const shown = placeholder === undefined ? {} : { placeholder, placeholderStyle: theme.style.dim };
    super({ prompt: " › ", ...shown });
    this.#isSecret = isSecret;
    // As a paste, so that the cursor is at its end.
    if (value !== "") this.handleInput(asPaste(value));
  }

  /** A secret has its cursor at the end. A paste loses its control characters. */
  override handleInput(data: string): void {
    if (this.#isSecret && moves.some((key) => getKeybindings().matches(data, key))) return;
    const pasted = pastedText(data);
    super.handleInput(pasted === undefined ? data : asPaste(pasted));
  }

  override render(width: number): string[] {
    if (!this.#isSecret || this.getValue() === "") return super.render(width);
    const dots = "•".repeat(Math.max(0, Math.min(this.getValue().length, width - 5)));
    return [` › ${dots}\u001b[7m \u001b[27m`];
  }
}
