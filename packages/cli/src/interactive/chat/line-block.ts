import type { StyleName, Theme } from "../theme/theme.ts";
import { ChatBlock } from "./chat-block.ts";
import { colouredLines, hangingLines } from "./chat-text.ts";

/** A text with one look, or with colours of its own. */
export class LineBlock extends ChatBlock {
  readonly #text: string;
  readonly #theme: Theme;
  readonly #look: StyleName | undefined;
  /** An entry that it speaks of. */
  readonly aboutEntryId: string | undefined;

  constructor(text: string, theme: Theme, look?: StyleName, aboutEntryId?: string) {
    super();
    this.aboutEntryId = aboutEntryId;
    this.#text = text;
    this.#theme = theme;
    this.#look = look;
  }

  protected lines(width: number): string[] {
    if (this.#look === undefined) return colouredLines(this.#text, width);
    return hangingLines(this.#text, width, this.#theme.style[this.#look]);
  }
}
