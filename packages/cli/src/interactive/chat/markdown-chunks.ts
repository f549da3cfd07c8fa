/** Enough for a paragraph or two: what is drawn anew with each word of a growing text is the last chunk alone. */
const MIN_CHUNK_CHARS = 600;

/**
 * A Markdown text in parts that read alone as they read in the whole; joined by newlines they are the text, without the
 * empty lines between them. A growing text changes its last parts only.
 */
export function markdownChunks(text: string): string[] {
  if (isInseparable(text)) return [text];
  const chunks: string[] = [];
  let chunk: string[] = [];
  let chars = 0;
  let fence: string | undefined;
  let wasEmpty = false;
  for (const line of text.split("\n")) {
    if (fence === undefined && wasEmpty && chars >= MIN_CHUNK_CHARS && startsBlock(line)) {
      chunks.push(chunk.join("\n").trimEnd());
      chunk = [];
      chars = 0;
    }
    fence = fenceAfter(line, fence);
    wasEmpty = line.trim() === "";
    chunk.push(line);
    chars += line.length + 1;
  }
  return [...chunks, chunk.join("\n")];
}

/** Definitions of links count for the whole text, and formulas may have empty lines. */
function isInseparable(text: string): boolean {
  return /^ {0,3}\[[^\]\n]+\]:/m.test(text) || text.includes("$$") || text.includes("\\[");
}

/** A line that goes on with nothing: neither an indented one nor what may belong to a list or a quote. */
function startsBlock(line: string): boolean {
  return /^[^\s>*+\-\d]/.test(line);
}

/** The fence that is open behind a line; it is closed by one that is at least as long, of the same character. */
function fenceAfter(line: string, open: string | undefined): string | undefined {
  const [, marks, rest = ""] = /^ *(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
  if (marks === undefined) return open;
  if (open === undefined) return marks.startsWith("`") && rest.includes("`") ? undefined : marks;
  const closes = marks[0] === open[0] && marks.length >= open.length && rest.trim() === "";
  return closes ? undefined : open;
}
