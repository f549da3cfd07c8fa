import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { Entry } from "@bonsai-agent/session";
import { readClaudeCode } from "./claude-code/reader.ts";
import { readCodex } from "./codex/reader.ts";
import { type CompactionSpan, compactionSpans } from "./compaction-spans.ts";
import { type Fields, type JsonLine, objectsOfLine } from "./import/json-lines.ts";
import { NoticeLog } from "./import/notices.ts";
import { checkedStats } from "./import-transcript.ts";

/** The agents whose transcripts can be read from the end. */
export type TailFormat = "claude-code" | "codex";

interface TailRow {
  /** In the line of a compaction. Quotes within texts are escaped, so no text contains it. */
  compaction: string;
  /** In the line of an answer. */
  answer: string;
  /** The start of a field that repeats the content of its record. */
  copy?: string;
  read: typeof readClaudeCode;
}

const ROWS: Readonly<Record<TailFormat, TailRow>> = {
  "claude-code": {
    compaction: '"subtype":"compact_boundary"',
    answer: '"type":"assistant"',
    copy: ',"toolUseResult":',
    read: readClaudeCode,
  },
  codex: { compaction: '"type":"compacted"', answer: '"role":"assistant"', read: readCodex },
};

/** The span before a compaction, and the offset of its first line in the file. */
export interface CurrentSpan extends CompactionSpan {
  start: number;
}

/** Bytes of one read. */
const STEP_BYTES = 1 << 21;
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
  const row = ROWS[format];
  const { bytes, offset } = spanBytes(path, row, isRecorded);
  const { list, leaf } = row.read(linesOf(bytes, row), new NoticeLog());
  const entries = list
    .path(leaf)
    .map(
      ({ key: id, parent: parentId, at = "", draft }) => ({ ...draft, id, parentId, timestamp: at }) as Entry,
    );
  const spans = compactionSpans(entries);
  const open = spans.at(-1)!;
  const isOpen = !isRecorded && open.messages.some(({ message }) => message.role === "assistant");
  return { ...((isOpen ? undefined : spans.at(-2)) ?? open), start: offset };
}

/** Reads the end of a file, back to the line of the compaction before the span. */
function spanBytes(path: string, row: TailRow, isRecorded: boolean): { bytes: Buffer; offset: number } {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const length = Math.min(size, MAX_BYTES);
    const bytes = Buffer.allocUnsafe(length);
    for (let from = length; from > 0; ) {
      const to = from;
      from = Math.max(0, to - STEP_BYTES);
      readSync(file, bytes, from, to - from, size - length + from);
      const start = spanStart(bytes.subarray(from), row, isRecorded);
      if (start !== undefined)
        return { bytes: bytes.subarray(from + start), offset: size - length + from + start };
    }
    // The first line may be cut.
    const start = size === length ? 0 : bytes.indexOf(NEWLINE) + 1;
    return { bytes: bytes.subarray(start), offset: size - length + start };
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

function linesOf(bytes: Buffer, { compaction, copy }: TailRow): JsonLine[] {
  const lines: JsonLine[] = [];
  for (let start = 0, line = 1; start < bytes.length; line++) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    const text = bytes.subarray(start, end);
    if (text.length <= MAX_LINE_BYTES || text.includes(compaction))
      for (const value of recordsOf(text, copy)) lines.push({ line, value });
    start = end + 1;
  }
  return lines;
}

/** The records of a line. Reads a record up to its copy of the content, if only that is missing. */
function recordsOf(line: Buffer, copy: string | undefined): readonly Fields[] {
  const end = copy !== undefined && line.length > MIN_COPY_BYTES ? line.indexOf(copy) : -1;
  if (end >= 0) {
    try {
      const record: Fields = JSON.parse(`${line.toString("utf8", 0, end)}}`);
      if (typeof record.uuid === "string") return [record];
    } catch {
      // The field is of an inner object.
    }
  }
  return objectsOfLine(line.toString("utf8")).values;
}

/** A shorter line is parsed as fast as it is searched. */
const MIN_COPY_BYTES = 1_000;
