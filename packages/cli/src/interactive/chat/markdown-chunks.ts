/** Enough for a paragraph or two: what is drawn anew with each word of a growing text is the last chunk alone. */
const MIN_CHUNK_CHARS = 600;

export interface MarkdownChunk {
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
