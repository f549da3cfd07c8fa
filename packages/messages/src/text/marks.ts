// The marks of a summary and its carry-over, and the escape of such marks in texts of others.

import type { CompactionSummaryMessage } from "../message.ts";
import { escapeWhere, FRAME_WORDS, FRAMES, REFERENCE, type Words, wordAt, wordsOf } from "./frames.ts";

/** The marks of a stored summary and of a request for one. */
export const MARKS = {
  /** The heading above the carried data: pins, the user's words, terms, files. */
  carried: "## Kept word for word",
  /** Stands between the two summaries of a split turn. */
  splitTurn: "**Turn Context (split turn):**",
  /** The tags of carried data, in the order of a summary. Extensions cannot have them. */
  tags: ["pinned", "user-words", "terms", "put-back", "read-files", "modified-files", "latest-request"],
  /** Tags that frame the parts of a summary request. */
  requestTags: ["conversation", "previous-summary", "focus"],
} as const;

/** Tags that programs put around summaries and inserted texts. */
const FOREIGN_TAGS = ["summary", "system-reminder"] as const;

const RESERVED_TAGS: readonly string[] = [...MARKS.tags, ...MARKS.requestTags, ...FOREIGN_TAGS];

/** True for one of Bonsai's tags, or one that programs put around a summary. */
export function isReservedTag(tag: string): boolean {
  return RESERVED_TAGS.includes(tag);
}

/** The heading above the carried data in sessions before version 0.1. */
const EARLIER_HEADING = "## Carried Over";

/**
 * Escapes everything that reads as one of Bonsai's marks, in any case, with blanks or invisible characters: its first
 * character becomes a reference (`&lt;pinned>`), so a reader still sees the text. Idempotent.
 *
 * Invariant: no text of a summariser, a user, a tool or a file begins or ends one of Bonsai's marks.
 * @param tags more tags to escape, such as those of extensions
 */
export function escapeMarks(text: string, tags: readonly string[] = []): string {
  const names = tags.length === 0 ? TAGS : wordsOf([...RESERVED_TAGS, ...tags]);
  return escapeWhere(text, (at) => isMark(text, at, names));
}

/** The same for tags alone. */
export function escapeTags(text: string, tags: readonly string[]): string {
  const names = wordsOf(tags);
  return escapeWhere(text, (at) => text[at] === "<" && wordAt(text, at + 1, names) !== undefined);
}

function isMark(text: string, at: number, tags: Words): boolean {
  const character = text[at]!;
  if (character === "<") return wordAt(text, at + 1, tags) !== undefined;
  if (character === "[") return isBracketMark(text, at + 1);
  return (
    wordAt(text, at + 1, JOINT) !== undefined ||
    (wordAt(text, at + 1, HEADING) !== undefined && beginsLine(text, at))
  );
}

/**
 * Reverses `escapeMarks`: each reference that stands for a mark becomes its character again. Other references stay.
 * @param tags more tags that count, as in `escapeMarks`
 */
export function restoreMarks(text: string, tags: readonly string[] = []): string {
  if (!text.includes("&")) return text;
  const names = tags.length === 0 ? TAGS : wordsOf([...RESERVED_TAGS, ...tags]);
  const places: { at: number; reference: string }[] = [];
  let offset = 0;
  const restored = text.replaceAll(REFERENCE, (reference, code: string | undefined, at: number) => {
    const character = code === undefined ? "<" : String.fromCodePoint(Number(code));
    places.push({ at: at - offset, reference });
    offset += reference.length - character.length;
    return character;
  });
  let shown = "";
  let from = 0;
  for (const { at, reference } of places) {
    const end = at + 1;
    shown += restored.slice(from, at) + (isMark(restored, at, names) ? restored.slice(at, end) : reference);
    from = end;
  }
  return shown + restored.slice(from);
}

/** The longest name in a `[Tool result name]:`. */
const LONGEST_LABEL = 200;
const CLOSED = /^\s*\]/;
const SAID = /^[^\n\]]*\]\s{0,9}:/;

function isBracketMark(text: string, from: number): boolean {
  if (wordAt(text, from, FRAME_WORDS) !== undefined) return true;
  const title = wordAt(text, from, TITLES);
  if (title !== undefined && CLOSED.test(text.slice(title, title + 9))) return true;
  const speaker = wordAt(text, from, SPEAKERS);
  if (speaker === undefined) return false;
  const rest = text.slice(speaker, speaker + LONGEST_LABEL);
  return SAID.test(rest);
}

/** True if only list or quotation marks precede this place in its line. */
function beginsLine(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 40), at);
  const line = before.slice(before.lastIndexOf("\n") + 1).replace(/^[^\p{L}\p{N}]*\d{1,9}[.)]/u, "");
  return !/[\p{L}\p{N}]/u.test(line);
}

/** Titles of summaries on screens. */
const TITLES = wordsOf(["compaction", "branch summary"]);
/** Speakers of a serialised conversation. */
const SPEAKERS = wordsOf([
  ...["User", "Assistant", "Tool result", "User command", "Extension", "Branch summary", "Earlier summary"],
]);
const HEADING = wordsOf([MARKS.carried]);
const JOINT = wordsOf([MARKS.splitTurn]);
const TAGS = wordsOf(RESERVED_TAGS);

const SUMMARY_FRAMES = [FRAMES.record, FRAMES.branchRecord, FRAMES.mergeRecord] as const;

/** The parts of a summary's text. */
interface SummaryParts {
  prose: string;
  /** The lines of each block of data, by tag. */
  carried: ReadonlyMap<string, readonly string[]>;
}

/** A line of a stored summary. */
interface PlacedLine {
  text: string;
  /** The tag of its block of data; `prose`; or `mark` for a frame. */
  place: string;
}

/**
 * The lines of a summary with their places. Joined, they are the summary.
 * @param tags those of extensions that may stand among the carry-over
 */
export function placedLines(summary: string, tags: readonly string[] = []): PlacedLine[] {
  const { prose, carried } = readSummary(summary, tags);
  const { begin = "" } = SUMMARY_FRAMES.find((frame) => summary.trimStart().startsWith(frame.begin)) ?? {};
  const from = summary.indexOf(prose, summary.indexOf(begin) + begin.length);
  const first = lineAt(summary, from);
  const end = prose === "" ? first : lineAt(summary, from + prose.length) + 1;
  let open: string | undefined;
  return summary.split("\n").map((text, at) => {
    if (at < end) return { text, place: at < first ? "mark" : "prose" };
    const inside = open;
    const [, tag] = /^<([a-z][a-z-]*)>$/.exec(text) ?? [];
    if (open === undefined && tag !== undefined && carried.has(tag)) open = tag;
    else if (text === `</${open}>`) open = undefined;
    return { text, place: inside !== undefined && open === inside ? inside : "mark" };
  });
}

/** The line number of a place in a text, from 0. */
function lineAt(text: string, at: number): number {
  let lines = 0;
  for (let next = text.indexOf("\n"); next >= 0 && next < at; next = text.indexOf("\n", next + 1)) lines += 1;
  return lines;
}

/**
 * Splits a summary. Accepts marks only in their places: the frame at the ends, the data in one run before the last
 * sentence. All other text is prose.
 */
export function readSummary(summary: string, tags: readonly string[] = []): SummaryParts {
  let text = summary.trim();
  for (const { begin } of SUMMARY_FRAMES) if (text.startsWith(begin)) text = text.slice(begin.length);
  for (const { end } of SUMMARY_FRAMES) if (text.endsWith(end)) text = text.slice(0, -end.length);
  return setApartIn(text.trim()) ?? blocksAtEnd(text.trim(), [...MARKS.tags, ...tags]);
}

/** A compaction's summary as it follows the provider's own: the carried data without the prose. */
export function withoutProse(message: CompactionSummaryMessage): CompactionSummaryMessage {
  const { provider: _, summary, ...rest } = message;
  const at = `\n${summary}\n`.lastIndexOf(`\n${MARKS.carried}\n`);
  return { ...rest, summary: at < 0 ? "" : summary.slice(at) };
}

/** Splits at the heading of the data; undefined if other text follows the heading. */
function setApartIn(text: string): SummaryParts | undefined {
  const heading = [MARKS.carried, EARLIER_HEADING]
    .map((each) => `\n${each}\n`)
    .find((each) => `\n${text}\n`.includes(each));
  const at = heading === undefined ? -1 : `\n${text}\n`.lastIndexOf(heading);
  if (heading === undefined || at < 0) return undefined;
  const carried = new Map<string, readonly string[]>();
  const lines = text.slice(at + heading.length - 1).split("\n");
  let from = 0;
  while (from < lines.length) {
    if (lines[from]!.trim() === "") from += 1;
    else {
      const [, tag] = /^<([a-z][a-z-]*)>$/.exec(lines[from]!) ?? [];
      const end = tag === undefined ? -1 : lines.indexOf(`</${tag}>`, from);
      if (tag === undefined || end < 0) return undefined;
      carried.set(tag, lines.slice(from + 1, end));
      from = end + 1;
    }
  }
  return { prose: text.slice(0, at).trimEnd(), carried };
}

/** Splits off blocks at the end, as pi writes them: each tag once, in order. */
function blocksAtEnd(text: string, tags: readonly string[]): SummaryParts {
  const carried = new Map<string, readonly string[]>();
  let prose = text;
  for (const tag of tags.toReversed()) {
    const close = `\n</${tag}>`;
    if (!prose.endsWith(close)) continue;
    const open = `\n<${tag}>\n`;
    const at = `\n${prose}`.lastIndexOf(open);
    if (at < 0) break;
    const body = prose.slice(at + open.length - 1, -close.length);
    carried.set(tag, body.split("\n"));
    prose = prose.slice(0, at).trimEnd();
  }
  return { prose, carried };
}
