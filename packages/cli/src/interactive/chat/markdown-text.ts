import { printableLines } from "../../views/terminal-text.ts";
import { fittedLines } from "../terminal/fitted-lines.ts";
import { Markdown, type MarkdownTheme } from "../terminal/tui.ts";
import type { ChatLooks } from "./chat-block.ts";
import { wrapped } from "./chat-text.ts";

/** A growing chunk is drawn with every word: longer code gets its colours at its end. */
const MAX_LIVE_CODE_CHARS = 2_000;

type MarkdownTextLooks = Pick<ChatLooks, "theme" | "highlighter">;

/** Draws a growing Markdown text: each chunk once for a width. */
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
    const chunks = markdownChunks(printableLines(text).join("\n").trim());
    this.#drawn.length = Math.min(this.#drawn.length, chunks.length);
    return chunks.flatMap((chunk, at) => {
      const lines = this.#chunkLines(chunk, at, !isWhole && at === chunks.length - 1);
      return at > 0 && lines.length > 0 ? ["", ...lines] : lines;
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

/** Draws a text that the library cannot read as it was written. */
function markdownLines(text: string, looks: MarkdownTheme, width: number): string[] {
  try {
    if (isReadableMarkdown(text)) return new Markdown(text, 1, 0, looks).render(width);
  } catch (error) {
    // Formulas and lists can be deeper than the stack.
    if (!(error instanceof RangeError)) throw error;
  }
  return wrapped(text.split("\n"), width);
}

/** Roughly two paragraphs. Only the last chunk of a growing text is drawn again. */
const MIN_CHUNK_CHARS = 600;

/** A link definition, at the margin, in a list or a quote. */
const definition = /^( {0,3}(?:(?:[-*+>]|\d{1,9}[.)])\s{0,3})*\[[^\]]+\]):/;

/**
 * Splits a Markdown text after empty lines, where its parts read alone as they read in the whole. A growing text changes
 * its last part only. Link definitions become visible text: `[INFO]: done` would vanish.
 */
export function markdownChunks(text: string): string[] {
  const chunks: string[] = [];
  const lines: string[] = [];
  let chars = 0;
  let isAfterEmptyLine = true;
  /** Recognises the end of the code or formula that the line is in. */
  let closes: ((line: string) => boolean) | undefined;
  const flush = () => chunks.push(lines.splice(0).join("\n").trimEnd());
  for (const line of text.split("\n")) {
    const isText = closes === undefined;
    // Indented lines, list items and quotes may continue the block above.
    if (isText && isAfterEmptyLine && chars >= MIN_CHUNK_CHARS && /^[^\s>*+\-\d]/.test(line)) {
      flush();
      chars = 0;
    }
    lines.push(isText ? line.replace(definition, "$1\\:") : line);
    if (isText) closes = closerOf(line);
    else if (closes?.(line) === true) closes = undefined;
    isAfterEmptyLine = line.trim() === "";
    chars += line.length + 1;
  }
  flush();
  return chunks;
}

/** Recognises the end of the code or formula that a line begins; undefined if it begins none or ends it itself. */
export function closerOf(line: string): ((line: string) => boolean) | undefined {
  const [, opener, formula = ""] = /^ {0,3}(\$\$|\\\[)(.*)$/s.exec(line) ?? [];
  if (opener !== undefined) {
    const closer = opener === "$$" ? "$$" : "\\]";
    return formula.includes(closer) ? undefined : (later) => later.includes(closer);
  }
  const [, marks, rest = ""] = /^(?:[-*+>\d.)\s]*\s)?(`{3,}|~{3,})(.*)$/s.exec(line) ?? [];
  if (marks === undefined || (marks.startsWith("`") && rest.includes("`"))) return undefined;
  return (later) => closesFence(later, marks);
}

/** A fence is closed by one that is at least as long, of the same character. */
function closesFence(line: string, open: string): boolean {
  const [, marks, rest = ""] = /^[\s>]*(`{3,}|~{3,})(.*)$/s.exec(line) ?? [];
  return marks !== undefined && marks[0] === open[0] && marks.length >= open.length && rest.trim() === "";
}

/** The library's time grows with the square of a paragraph's length. */
const MAX_PARAGRAPH_CHARS = 8_000;
/** The library reads a nested quote or list again for each one around it. */
const MAX_NESTING = 20;

/** Nested quotes and lists that begin on one line. */
const markers = /^(?:[ \t]*(?:>|[-*+](?=\s)|\d{1,9}[.)](?=\s)))*/;
const marker = />|[-*+]|(?<!\d)\d{1,9}[.)]/g;

/** False for a text that takes the library too long or exceeds the stack. */
export function isReadableMarkdown(text: string): boolean {
  let paragraphChars = 0;
  let fence: string | undefined;
  for (const line of text.split("\n")) {
    if (nesting(line) > MAX_NESTING) return false;
    const [, marks] = /^[\s>]*(`{3,}|~{3,})/.exec(line) ?? [];
    if (fence !== undefined) {
      if (marks?.startsWith(fence) === true) fence = undefined;
      continue;
    }
    fence = marks;
    // A row of a table is read alone.
    const isRest = marks === undefined && line.trim() !== "" && !line.trimStart().startsWith("|");
    paragraphChars = isRest ? paragraphChars + line.length : 0;
    if (paragraphChars > MAX_PARAGRAPH_CHARS || line.length > MAX_PARAGRAPH_CHARS) return false;
  }
  return true;
}

function nesting(line: string): number {
  const [lead = ""] = markers.exec(line) ?? [];
  return lead.match(marker)?.length ?? 0;
}
