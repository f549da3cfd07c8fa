import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { Entry } from "@bonsai-agent/session";
import { readClaudeCode } from "./claude-code/reader.ts";
import { readCodex } from "./codex/reader.ts";
import { type CompactionSpan, compactionSpans } from "./compaction-spans.ts";
import { type JsonLine, objectsOfLine } from "./import/json-lines.ts";
import { NoticeLog } from "./import/notices.ts";
import { checkedStats, importedSession } from "./import-transcript.ts";

/** The agents whose transcripts can be read from the end. */
export type TailFormat = "claude-code" | "codex";

interface TailRow {
  /** In the line of a compaction. Quotes within texts are escaped, so no text contains it. */
  compaction: string;
  /** In the line of an answer. */
  answer: string;
  read: typeof readClaudeCode;
}

const ROWS: Readonly<Record<TailFormat, TailRow>> = {
  "claude-code": {
    compaction: '"subtype":"compact_boundary"',
    answer: '"type":"assistant"',
    read: readClaudeCode,
  },
  codex: { compaction: '"type":"compacted"', answer: '"role":"assistant"', read: readCodex },
};

/** The span before a compaction, and the offset of its first line in the file. */
export interface CurrentSpan extends CompactionSpan {
  start: number;
}

/** Bytes of the first read. A read without the compaction is repeated with twice as many. */
const FIRST_BYTES = 1 << 21;
/** A context of a million tokens has about 4 MB of text, which a transcript stores up to three times. */
const MAX_BYTES = 1 << 24;
/** Longer lines hold images. */
const MAX_LINE_BYTES = 1 << 21;

/**
 * Reads the messages that the current compaction summarises, from the end of a transcript and at most 16 MB of it. Skips
 * damaged and huge lines. The span is open if the transcript does not have the compaction yet.
 * @param isRecorded true if the last compaction in the file is the current one. Otherwise it is the current one only if no
 *   answer follows it
 * @throws BonsaiError `transcript_not_found`, `transcript_not_a_file`; an error of the file system
 */
export function readCurrentSpan(path: string, format: TailFormat, isRecorded: boolean): CurrentSpan {
  checkedStats(path);
  const { bytes, start, offset } = endOf(path, (end) => spanStart(end, ROWS[format], isRecorded));
  const transcript = ROWS[format].read(linesFrom(bytes, start, ROWS[format].compaction), new NoticeLog());
  const { entries, leafId } = importedSession(transcript, format, "/");
  const spans = compactionSpans(pathTo(entries, leafId));
  const open = spans.at(-1)!;
  const isOpen = !isRecorded && open.messages.some(({ message }) => message.role === "assistant");
  return { ...((isOpen ? undefined : spans.at(-2)) ?? open), start: offset + start };
}

interface FileEnd {
  bytes: Buffer;
  /** The offset of these bytes in the file. */
  offset: number;
  /** The place in the bytes at which the span begins. */
  start: number;
}

/** Reads more of the end until `find` returns a place in it. */
function endOf(path: string, find: (bytes: Buffer) => number | undefined): FileEnd {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const most = Math.min(size, MAX_BYTES);
    let bytes = Buffer.alloc(0);
    for (let length = Math.min(FIRST_BYTES, most); ; length = Math.min(2 * length, most)) {
      const older = length - bytes.length;
      const longer = Buffer.alloc(length);
      bytes.copy(longer, older);
      readSync(file, longer, 0, older, size - length);
      bytes = longer;
      const start = find(bytes);
      if (start !== undefined) return { bytes, offset: size - length, start };
      // The first line may be cut.
      if (length === most)
        return { bytes, offset: size - length, start: size === length ? 0 : bytes.indexOf(NEWLINE) + 1 };
    }
  } finally {
    closeSync(file);
  }
}

const NEWLINE = 0x0a;

/** The line of the compaction before the span, if these bytes have it. */
function spanStart(bytes: Buffer, { compaction, answer }: TailRow, isRecorded: boolean): number | undefined {
  const places: number[] = [];
  // A search backwards is twenty times slower.
  for (let at = bytes.indexOf(compaction); at >= 0; at = bytes.indexOf(compaction, at + 1)) places.push(at);
  const last = places.at(-1);
  const isOpen = !isRecorded && last !== undefined && bytes.indexOf(answer, last) >= 0;
  const at = isOpen ? last : places.at(-2);
  return at === undefined ? undefined : bytes.lastIndexOf(NEWLINE, at) + 1;
}

function linesFrom(bytes: Buffer, from: number, compaction: string): JsonLine[] {
  const lines: JsonLine[] = [];
  for (let start = from, line = 1; start < bytes.length; line++) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    const text = bytes.subarray(start, end);
    if (text.length <= MAX_LINE_BYTES || text.includes(compaction))
      for (const value of objectsOfLine(text.toString("utf8")).values) lines.push({ line, value });
    start = end + 1;
  }
  return lines;
}

function pathTo(entries: readonly Entry[], leafId: string): Entry[] {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const path: Entry[] = [];
  for (let entry = byId.get(leafId); entry !== undefined; entry = byId.get(entry.parentId ?? ""))
    path.push(entry);
  return path.reverse();
}
