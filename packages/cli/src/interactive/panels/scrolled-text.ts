import { counted } from "../../views/numbers.ts";
import { getKeybindings } from "../terminal/tui.ts";
import type { Theme } from "../theme/theme.ts";
import { keyName, textLines } from "./panel-frame.ts";

/** Owner of how far a text is scrolled that may be longer than the screen. */
export class ScrolledText {
  readonly #text: string;
  readonly #theme: Theme;
  #first = 0;
  #page = 1;
  #cache: { width: number; lines: readonly string[] } | undefined;

  constructor(text: string, theme: Theme) {
    this.#text = text;
    this.#theme = theme;
  }

  /** @returns true where the key scrolled */
  handleInput(data: string): boolean {
    const keys = getKeybindings();
    if (keys.matches(data, "tui.select.up")) this.#first -= 1;
    else if (keys.matches(data, "tui.select.down")) this.#first += 1;
    else if (keys.matches(data, "tui.select.pageUp")) this.#first -= this.#page;
    else if (keys.matches(data, "tui.select.pageDown")) this.#first += this.#page;
    else return false;
    return true;
  }

  /** @param rows at most so many lines */
  render(width: number, rows: number): string[] {
    if (this.#text === "") return [];
    if (this.#cache?.width !== width) this.#cache = { width, lines: textLines(this.#text, width) };
    const { lines } = this.#cache;
    if (lines.length <= rows) return [...lines];
    const room = Math.max(1, rows - 1);
    this.#page = room;
    this.#first = Math.max(0, Math.min(this.#first, lines.length - room));
    const left = lines.length - this.#first - room;
    const keys = `${keyName("tui.select.up")}/${keyName("tui.select.down")}`;
    const more = left > 0 ? `${counted(left, "more line")} (${keys})` : `the end (${keys})`;
    return [
      ...lines.slice(this.#first, this.#first + room),
      ...textLines(more, width).slice(0, 1).map(this.#theme.style.dim),
    ];
  }
}
