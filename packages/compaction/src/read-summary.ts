import { BRANCH_RECORD, CARRIED, CONTINUATION, inert, ownTags, RECORD } from "./marks.ts";

/**
 * What a summariser wrote, or an earlier summary, without the frame at its ends; whatever else in it reads as a mark of
 * ours is text.
 * @param tags those of extensions that may stand among the carry-over
 */
export function strippedSummary(summary: string, tags: readonly string[] = []): string {
  return inert(readSummary(summary, tags).prose, tags).trim();
}

/** A summary's text, taken apart. */
export interface SummaryParts {
  prose: string;
  /** The lines of each block of data, by tag. */
  carried: ReadonlyMap<string, readonly string[]>;
}

/**
 * Takes marks only where they belong: the frame at the ends, the data in one run before the last sentence. What reads
 * like them inside the prose is prose.
 */
export function readSummary(summary: string, tags: readonly string[] = []): SummaryParts {
  let text = summary.trim();
  for (const frame of [RECORD, BRANCH_RECORD]) if (text.startsWith(frame)) text = text.slice(frame.length);
  if (text.endsWith(CONTINUATION)) text = text.slice(0, -CONTINUATION.length);
  return setApartIn(text.trim()) ?? blocksAtEnd(text.trim(), [...ownTags, ...tags]);
}

/** The data below its heading, whoever they are of; undefined where something else stands there too. */
function setApartIn(text: string): SummaryParts | undefined {
  const heading = `\n${CARRIED}\n`;
  const at = `\n${text}\n`.lastIndexOf(heading);
  if (at < 0) return undefined;
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

/** As pi writes them: at the very end, each tag once, in order. */
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
