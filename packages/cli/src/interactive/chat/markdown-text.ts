import { printableLines } from "../../views/printable.ts";
import { Markdown, type MarkdownTheme } from "../terminal/tui.ts";
import { fittedLines } from "./chat-block.ts";
import type { ChatLooks } from "./chat-looks.ts";
import { wrapped } from "./chat-text.ts";
import { markdownChunks } from "./markdown-chunks.ts";
import { withDefinitionsSeen } from "./markdown-definitions.ts";
import { isReadableMarkdown } from "./readable-markdown.ts";

/** A growing chunk is drawn with every word: its code gets its colours when there is not too much of it, or it is whole. */
const MAX_LIVE_CODE_CHARS = 2_000;

type MarkdownTextLooks = Pick<ChatLooks, "theme" | "highlighter">;

/** Markdown that grows: each chunk is drawn once for a width. */
export class MarkdownText {
  readonly #looks: MarkdownTextLooks;
  #width = -1;
  #drawn: { chunk: string; isLast: boolean; lines: string[] }[] = [];

  constructor(looks: MarkdownTextLooks) {
    this.#looks = looks;
  }

  /** Lines of at most `width` columns, a column of margin at each side. */
  lines(text: string, width: number, isWhole = true): string[] {
    if (width !== this.#width) this.forget();
    this.#width = width;
    const chunks = markdownChunks(withDefinitionsSeen(printableLines(text).join("\n").trim()));
    this.#drawn.length = Math.min(this.#drawn.length, chunks.length);
    return chunks.flatMap((chunk, at) => {
      const lines = this.#chunkLines(chunk.text, at, !isWhole && at === chunks.length - 1);
      return chunk.isApart && lines.length > 0 ? ["", ...lines] : lines;
    });
  }

  /** The looks have changed. */
  forget(): void {
    this.#drawn = [];
  }

  #chunkLines(chunk: string, at: number, isLast: boolean): string[] {
    const known = this.#drawn[at];
    if (known !== undefined && known.chunk === chunk && known.isLast === isLast) return known.lines;
    const isPlain = isLast && chunk.length > MAX_LIVE_CODE_CHARS;
    const { theme, highlighter } = this.#looks;
    const looks = {
      ...theme.markdown,
      highlightCode: (code: string, language?: string) =>
        highlighter.lines(code, isPlain ? undefined : language, theme.style),
    };
    const lines = fittedLines(markdownLines(chunk, looks, this.#width), this.#width);
    this.#drawn[at] = { chunk, isLast, lines };
    return lines;
  }
}

/** What cannot be read as Markdown is shown as it was written. */
function markdownLines(text: string, looks: MarkdownTheme, width: number): string[] {
  try {
    if (isReadableMarkdown(text)) return new Markdown(text, 1, 0, looks).render(width);
  } catch (error) {
    // Formulas and lists can be deeper than the stack, too.
    if (!(error instanceof RangeError)) throw error;
  }
  return wrapped(text.split("\n"), width);
}
