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
