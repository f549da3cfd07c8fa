import { printableLines } from "../../views/terminal-text.ts";
import { fittedLines } from "../terminal/fitted-lines.ts";
import { Markdown, type MarkdownTheme } from "../terminal/tui.ts";
import type { ChatLooks } from "./chat-block.ts";
import { wrapped } from "./chat-text.ts";

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

/** Enough for a paragraph or two: what is drawn anew with each word of a growing text is the last chunk alone. */
const MIN_CHUNK_CHARS = 600;

interface MarkdownChunk {
  text: string;
  /** False for what goes on with a list, without an empty line before it. */
  isApart: boolean;
}

/**
 * A Markdown text in parts that read alone as they read in the whole; joined by newlines they are the text, without the
 * empty lines between them. A growing text changes its last parts only.
 */
export function markdownChunks(text: string): MarkdownChunk[] {
  if (hasLinkDefinitions(text)) return [{ text, isApart: false }];
  const chunks: MarkdownChunk[] = [];
  let lines: string[] = [];
  let chars = 0;
  let isApart = false;
  const place = new Place();
  const flush = () => chunks.push({ text: lines.join("\n").trimEnd(), isApart });
  for (const line of text.split("\n")) {
    if (chars >= MIN_CHUNK_CHARS && place.canSplitBefore(line)) {
      flush();
      isApart = place.isAfterEmptyLine;
      lines = [];
      chars = 0;
    }
    place.pass(line);
    lines.push(line);
    chars += line.length + 1;
  }
  flush();
  return chunks;
}

/** They count for the whole text. */
function hasLinkDefinitions(text: string): boolean {
  return /^ {0,3}\[[^\]\r\n\u2028\u2029]+\]:/m.test(text);
}

/** A list that stands at the margin. */
interface List {
  /** The bullet, or what stands behind the numbers. */
  mark: string;
  /** NaN where the numbers do not follow each other: those that are shown would be others. */
  next: number;
}

/** Where in a text a line stands. */
class Place {
  /** What ends the code or the formula that the line is in. */
  #closes: ((line: string) => boolean) | undefined;
  #list: List | undefined;
  #isAfterEmptyLine = true;

  get isAfterEmptyLine(): boolean {
    return this.#isAfterEmptyLine;
  }

  canSplitBefore(line: string): boolean {
    if (this.#closes !== undefined) return false;
    const item = itemOf(line);
    if (item !== undefined)
      return item.mark === this.#list?.mark && (item.number === undefined || item.number === this.#list.next);
    // Neither an indented line nor what may belong to a quote goes on with nothing.
    return this.#isAfterEmptyLine && /^[^\s>*+\-\d]/.test(line);
  }

  pass(line: string): void {
    if (this.#closes !== undefined) {
      if (this.#closes(line)) this.#closes = undefined;
    } else {
      this.#list = this.#listWith(line);
      this.#closes = closerOf(line);
    }
    this.#isAfterEmptyLine = line.trim() === "";
  }

  #listWith(line: string): List | undefined {
    const item = itemOf(line);
    if (item === undefined) return this.#endsList(line) ? undefined : this.#list;
    const { mark, number = 0 } = item;
    // A number within a paragraph is a word of it, and in a list that goes on, another may be shown.
    const begins = this.#list?.mark !== mark && this.#isAfterEmptyLine;
    const follows = item.number === undefined || begins || number === this.#list?.next;
    return { mark, next: follows ? number + 1 : Number.NaN };
  }

  #endsList(line: string): boolean {
    return /^(#|>|```|~~~|\||[-*_]{3})/.test(line) || (this.#isAfterEmptyLine && /^\S/.test(line));
  }
}

function itemOf(line: string): { mark: string; number: number | undefined } | undefined {
  const [, mark, digits, behind = ""] = /^([-*+]|(\d{1,9})([.)]))\s+\S/.exec(line) ?? [];
  if (mark === undefined) return undefined;
  return digits === undefined ? { mark, number: undefined } : { mark: behind, number: Number(digits) };
}

/** What ends the code or the formula that a line begins; undefined where it begins none, or ends it itself. */
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

/**
 * Markdown leaves out what looks like the address of a link that is named elsewhere: `[INFO]: done`, `[^1]: note`. Here
 * it stays, unless it is an address, and its name stands somewhere else in the text.
 */
function withDefinitionsSeen(text: string): string {
  if (!text.includes("]:")) return text;
  let closes: ((line: string) => boolean) | undefined;
  const lines = text.split("\n");
  const seen = lines.map((line, at) => {
    if (closes !== undefined) {
      if (closes(line)) closes = undefined;
      return line;
    }
    closes = closerOf(line);
    const { before, name, rest = "" } = definition.exec(line)?.groups ?? {};
    if (before === undefined || name === undefined) return line;
    // The address may stand in the next line.
    const address = rest.trim() || lines[at + 1]?.trim() || "";
    return isAddress(address) && isNamed(text, name) ? line : `${before}[${name}]\\:${rest}`;
  });
  return seen.join("\n");
}

/** At the margin, in a list or a quote; further in is code. */
const definition = /^(?<before> {0,3}(?:(?:[-*+>]|\d{1,9}[.)])\s{0,3})*)\[(?<name>[^\]]+)\]:(?<rest>.*)$/;

function isAddress(text: string): boolean {
  return /^(?:<|[/#]|\.\.?\/|[a-z][a-z\d+.-]*:\S|\S*\w\.\w)/i.test(text);
}

function isNamed(text: string, name: string): boolean {
  if (name.startsWith("^")) return false;
  const named = `[${name}]`.toLowerCase();
  const parts = text.toLowerCase().split(named).slice(1);
  return parts.some((behind) => !behind.startsWith(":"));
}

/** The time for emphasis, links and addresses grows with the square of a paragraph's length: a longer one is no prose. */
const MAX_PARAGRAPH_CHARS = 8_000;
/** Each quote or list within another one is read anew for all that are around it. */
const MAX_NESTING = 20;

/** Quotes and lists that begin within each other on one line. */
const markers = /^(?:[ \t]*(?:>|[-*+](?=\s)|\d{1,9}[.)](?=\s)))*/;
const marker = />|[-*+]|(?<!\d)\d{1,9}[.)]/g;

/** False for a Markdown text that takes the terminal library too long, or ends the process for want of a stack. */
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
