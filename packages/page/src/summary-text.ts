import { CARRIED_HEADING, FRAME_SENTENCES } from "@bonsai-agent/messages/frames";
import { OPENERS, SQUARES } from "@bonsai-agent/messages/spelling";

/** A line of a summary as readers see it. */
export interface ReadableLine {
  text: string;
  isHeading: boolean;
  /** Position among the stored lines. */
  at: number;
}

const SPECIALS = `${OPENERS}${SQUARES}#*`;
const BLOCKS: Readonly<Record<string, string>> = {
  pinned: "Pinned",
  "user-words": "User messages",
  terms: "Terms",
  "put-back": "Restored facts",
  "read-skills": "Skills read",
  "read-files": "Files read",
  "modified-files": "Files modified",
  "latest-request": "Latest request",
};

/** The stored lines of a summary without the marks for models: sentences of its frame, tags and references. */
export function readableLines(stored: readonly string[]): ReadableLine[] {
  const carriedAt = stored.lastIndexOf(CARRIED_HEADING);
  const lines: ReadableLine[] = [];
  let open: string | undefined;
  for (const [at, text] of stored.entries()) {
    if (isFrame(text) || at === carriedAt) continue;
    if (open !== undefined && text === `</${open}>`) {
      open = undefined;
      continue;
    }
    const tag = open === undefined ? tagIn(text) : undefined;
    if (tag !== undefined && (carriedAt >= 0 ? at > carriedAt : Object.hasOwn(BLOCKS, tag))) {
      open = tag;
      lines.push({ text: blockName(tag), isHeading: true, at });
      continue;
    }
    const [, heading] = open === undefined ? (/^#{1,6} +(.+)$/.exec(text) ?? []) : [];
    lines.push({ text: withoutReferences(heading ?? text), isHeading: heading !== undefined, at });
  }
  return withoutEmptyEnds(lines);
}

/** A summary as Markdown, without the marks for models. */
export function readableSummary(summary: string): string {
  return readableLines(summary.split("\n"))
    .map(({ text, isHeading }) => (isHeading ? `\n## ${text}\n` : text))
    .join("\n");
}

/** True for a sentence in brackets that frames the summary for a model. */
function isFrame(line: string): boolean {
  return /^\[.*\]$/.test(line) && FRAME_SENTENCES.some((start) => line.startsWith(start, 1));
}

function tagIn(line: string): string | undefined {
  return /^<([a-z][a-z-]*)>$/.exec(line)?.[1];
}

function blockName(tag: string): string {
  if (Object.hasOwn(BLOCKS, tag)) return BLOCKS[tag]!;
  return `${tag[0]!.toUpperCase()}${tag.slice(1).replaceAll("-", " ")}`;
}

/** Restores the special characters that were replaced so that no model takes them for a mark. */
export function withoutReferences(text: string): string {
  return text.replace(/&(?:lt|#(\d{2,5}));/g, (reference, code: string | undefined) => {
    if (code === undefined) return "<";
    const character = String.fromCodePoint(Number(code));
    return SPECIALS.includes(character) ? character : reference;
  });
}

function withoutEmptyEnds(lines: ReadableLine[]): ReadableLine[] {
  const isFull = ({ text }: ReadableLine) => text.trim() !== "";
  const first = lines.findIndex(isFull);
  return first < 0 ? [] : lines.slice(first, lines.findLastIndex(isFull) + 1);
}
