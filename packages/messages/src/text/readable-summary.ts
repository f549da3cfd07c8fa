import { isReservedTag, MARKS, placedLines, restoreMarks } from "./marks.ts";

/** A line of a stored summary as a person reads it. */
export interface ReadableLine {
  /** Without the marks for models. */
  text: string;
  /** True for a heading; its text has no `#`. */
  isHeading: boolean;
  /** The number of `#` of the summary's own headings. */
  level?: number;
  /** Position among the stored lines. */
  at: number;
}

/** Headings of the carried blocks; a block of an extension is named by its tag. */
const BLOCKS: Readonly<Record<string, string>> = {
  pinned: "Pinned",
  "user-words": "User messages",
  terms: "Terms",
  "put-back": "Restored facts",
  "read-files": "Files read",
  "modified-files": "Files modified",
  "latest-request": "Latest request",
};

/**
 * The lines of a stored summary as a person reads them: frames, tags and references for models are left out, carried
 * blocks and the summary of the current turn get a heading. Total: any text is a summary.
 * @param tags those of extensions that may stand among the carry-over
 */
export function readableLines(summary: string, tags: readonly string[] = []): ReadableLine[] {
  const placed = placedLines(summary, tags);
  const places = new Set(placed.map(({ place }) => place));
  const restored = placed.map(({ text, place }) => restoredLine(text, place, [...tags, ...places]));
  const isProse = (at: number) => placed[at]?.place === "prose";
  const wrappers = wrapperLines(restored, isProse);
  const lines: ReadableLine[] = [];
  let isCode = false;
  for (const [at, { text, place }] of placed.entries()) {
    const shown = restored[at]!;
    if (/^ {0,3}(?:```|~~~)/.test(shown)) isCode = !isCode;
    const isText = isProse(at) && !isCode;
    const [, marks, heading] = isText ? (/^(#{1,6}) +(.+?) *$/.exec(shown) ?? []) : [];
    const block = placed[at + 1]?.place;
    if (wrappers.has(at)) continue;
    if (isProse(at) && shown === MARKS.splitTurn) beginTurn(lines, at);
    else if (heading !== undefined && marks !== undefined)
      lines.push({ text: heading, isHeading: true, level: marks.length, at });
    else if (place !== "mark") lines.push({ text: shown, isHeading: false, at });
    else if (block !== undefined && text === `<${block}>`)
      lines.push({ text: blockName(block), isHeading: true, at });
    else if (text.trim() === "") lines.push({ text: "", isHeading: false, at });
  }
  return withoutEmptyEnds(lines);
}

/** A stored summary as Markdown for a person, see `readableLines`. */
export function readableSummary(summary: string, tags?: readonly string[]): string {
  const shown: string[] = [];
  let isBelowOwn = false;
  for (const { text, isHeading, level } of readableLines(summary, tags)) {
    const isOwn = isHeading && level === undefined;
    while (isOwn && shown.at(-1)?.trim() === "") shown.pop();
    if ((isOwn && shown.length > 0) || (isBelowOwn && text.trim() !== "")) shown.push("");
    shown.push(isHeading ? `${"#".repeat(level ?? 2)} ${text}` : text);
    isBelowOwn = isOwn;
  }
  return shown.join("\n");
}

const QUOTED_PLACES = new Set(["read-files", "modified-files"]);

function restoredLine(text: string, place: string, tags: readonly string[]): string {
  return QUOTED_PLACES.has(place)
    ? text.replaceAll(/"(?:[^"\\]|\\.)*"/g, unquoted)
    : restoreMarks(text, tags);
}

/** Names that are not plain stand in quotes, as JSON. One that would break the line keeps them. */
function unquoted(quoted: string): string {
  try {
    const name = String(JSON.parse(quoted));
    return /[\p{Cc}\u2028\u2029]/u.test(name) ? quoted : name;
  } catch {
    return quoted;
  }
}

/** Some models write their summary between the tags of the request, each on a line of its own. */
function wrapperLines(lines: readonly string[], isProse: (at: number) => boolean): Set<number> {
  const wrappers = new Set<number>();
  let isStart = true;
  let ends: number[] = [];
  for (const [at, text] of lines.entries()) {
    if (!isProse(at) || text === MARKS.splitTurn) {
      for (const end of ends) wrappers.add(end);
      [isStart, ends] = [true, []];
      continue;
    }
    if (text.trim() === "" || text === "---") continue;
    const [, slash, tag] = /^<(\/?)([a-z-]+)>$/.exec(text) ?? [];
    const isTag = tag !== undefined && isReservedTag(tag);
    if (isTag && slash === "" && isStart) wrappers.add(at);
    else isStart = false;
    if (isTag && slash === "/") ends.push(at);
    else ends = [];
  }
  for (const end of ends) wrappers.add(end);
  return wrappers;
}

/** Replaces the line between the summaries of a split turn, and the placeholder for an empty first one. */
function beginTurn(lines: ReadableLine[], at: number): void {
  for (const pattern of [/^\s*$/, /^---$/, /^\s*$/, /^No (?:earlier|prior) history\.$/])
    while (lines.length > 0 && pattern.test(lines.at(-1)!.text)) lines.pop();
  if (lines.length > 0) lines.push({ text: "", isHeading: false, at });
  lines.push({ text: "Current turn", isHeading: true, at });
}

function blockName(tag: string): string {
  if (Object.hasOwn(BLOCKS, tag)) return BLOCKS[tag]!;
  return `${tag[0]!.toUpperCase()}${tag.slice(1).replaceAll("-", " ")}`;
}

function withoutEmptyEnds(lines: ReadableLine[]): ReadableLine[] {
  const isFull = ({ text }: ReadableLine) => text.trim() !== "";
  const first = lines.findIndex(isFull);
  return first < 0 ? [] : lines.slice(first, lines.findLastIndex(isFull) + 1);
}
