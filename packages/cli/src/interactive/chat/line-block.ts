import type { StyleName, Theme } from "../theme/theme.ts";
import { ChatBlock } from "./chat-block.ts";
import { textLines } from "./chat-text.ts";

/** A text with one look. */
export class LineBlock extends ChatBlock {
  readonly #text: string;
  readonly #theme: Theme;
  readonly #look: StyleName | undefined;

  constructor(text: string, theme: Theme, look?: StyleName) {
    super();
    this.#text = text;
    this.#theme = theme;
    this.#look = look;
  }

  protected lines(width: number): string[] {
    const style = this.#look === undefined ? undefined : this.#theme.style[this.#look];
    return textLines(this.#text, width, style);
  }
}
