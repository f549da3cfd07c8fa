import type { StyleName, Theme } from "../terminal/theme.ts";
import { ChatBlock } from "./chat-block.ts";
import { colouredLines, hangingLines } from "./chat-text.ts";

/** A line that is no part of the session. */
export interface ChatLine {
  text: string;
  /** Default: the colours that the text has. */
  look?: StyleName;
  /** The entry that it speaks of: it goes when the chat is built anew without that. Default: it stays. */
  aboutEntryId?: string | undefined;
  /** It says that an attempt came to nothing: it goes when another one succeeds. Default: it stays. */
  attempt?: Attempt | undefined;
}

/** What can fail, and be tried in another way. */
export type Attempt = "compaction" | "move";

/** A text with one look, or with colours of its own. */
export class LineBlock extends ChatBlock {
  readonly line: ChatLine;
  readonly #theme: Theme;

  constructor(line: ChatLine, theme: Theme) {
    super();
    this.line = line;
    this.#theme = theme;
  }

  protected lines(width: number): string[] {
    const { text, look } = this.line;
    return look === undefined
      ? colouredLines(text, width)
      : hangingLines(text, width, this.#theme.style[look]);
  }
}

/** A text whose first line has a mark before it, and whose others stand below. */
export function markedText(mark: string, text: string): string {
  return text
    .split("\n")
    .map((line, at) => `${at === 0 ? mark : " "} ${line}`)
    .join("\n");
}
