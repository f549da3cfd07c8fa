import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import type { Entry } from "@bonsai-agent/session";
import { readClaudeCode } from "./claude-code/reader.ts";
import { readCodex } from "./codex/reader.ts";
import { type CompactionSpan, compactionSpans, type SpanMessage } from "./compaction-spans.ts";
import { type Fields, type JsonLine, objectsOfLine, stringAt } from "./import/json-lines.ts";
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
  /** The id of the answer that a record begins or continues. All results of earlier calls come before a new id. */
  answerId?: (record: Fields) => string | undefined;
  read: typeof readClaudeCode;
}

const ROWS: Readonly<Record<TailFormat, TailRow>> = {
  "claude-code": {
    compaction: '"subtype":"compact_boundary"',
    answer: '"type":"assistant"',
    copy: ',"toolUseResult":',
    answerId: (record) =>
      record.type === "assistant" && record.isSidechain !== true
        ? stringAt(record, "message", "id")
        : undefined,
    read: readClaudeCode,
  },
  codex: { compaction: '"type":"compacted"', answer: '"role":"assistant"', read: readCodex },
};

/** The parts of a span that are already read: later calls continue after them if the file still begins with them. */
export interface ReadPlace {
  /** The offset of the span's first line. */
  start: number;
  /** The offset after the last part. */
  end: number;
  fingerprint: string;
}

/**
 * The span before a compaction. `parts` have its older messages, split at the same places in each call; `messages` has the
 * rest.
 */
export interface CurrentSpan extends CompactionSpan {
  /** The offset of its first line in the file. 0 if the line is not in the last 16 MB. */
  start: number;
  parts: SpanMessage[][];
  /** The place after `parts`; undefined if no part was read. */
  place: ReadPlace | undefined;
  /** True if `parts` begins after the place of an earlier call. */
  isContinued: boolean;
  /** Bytes between the earlier parts and `parts` that were too many to read. */
  skippedBytes: number;
}

interface SpanOptions {
  format: TailFormat;
  /**
   * True if the last compaction in the file is the current one. Otherwise it is the current one only if no answer follows
   * it.
   */
  isRecorded: boolean;
  /** The place of an earlier call. Ignored if the file has changed before it. */
  after?: ReadPlace | undefined;
  /** The bytes to read if there are too many. Default: the newest. */
  prefers?: "oldest" | "newest";
}

/** Bytes of one read. */
const STEP_BYTES = 1 << 20;
/** The mark of a compaction is at most this far from the start of its line. */
const OVERLAP_BYTES = 1 << 12;
/** The current span begins in this end of the file. A context of a million tokens has about 12 MB of transcript. */
const MAX_SPAN_BYTES = 1 << 24;
/** Limit of one call, so that the hook answers in about 0.3 seconds. A context of 200,000 tokens has about 1.2 MB. */
const MAX_READ_BYTES = 3 << 19;
/** Bytes after a compaction that can have texts of the new context. */
const MAX_AFTER_BYTES = 1 << 19;
/** Longer lines hold images. */
const MAX_LINE_BYTES = 1 << 21;
/** A smaller part costs more than it saves. */
const MIN_PART_BYTES = 1 << 19;

/**
 * Reads the messages that the current compaction summarises, from the end of a transcript and at most 1.5 MB of it. Skips
 * damaged and huge lines. The span is open if the transcript does not have the compaction yet.
 * @throws BonsaiError `transcript_not_found`, `transcript_not_a_file`; an error of the file system
 */
export function readCurrentSpan(path: string, options: SpanOptions): CurrentSpan {
  const { format, isRecorded, after, prefers = "newest" } = options;
  checkedStats(path);
  const row = ROWS[format];
  const file = openSync(path, "r");
  try {
    const known = after && after.fingerprint === fingerprintOf(file, after) ? after : undefined;
    const found = known && findSpan(file, row, isRecorded, known);
    const isContinued = known !== undefined && found?.start === known.start;
    const { start, compactionAt } = isContinued ? found : findSpan(file, row, isRecorded);
    const from = isContinued ? known.end : start;
    const end = Math.min(fstatSync(file).size, (compactionAt ?? Number.POSITIVE_INFINITY) + MAX_AFTER_BYTES);
    const { bytes, offset } = readLines(
      file,
      from,
      prefers === "newest" ? end : Math.min(end, from + MAX_READ_BYTES),
    );
    const { parts, rest, partsEnd } = split(linesOf(bytes, offset, row), row, compactionAt ?? end);
    const spans = spansOf(rest, row);
    const open = spans.at(-1)!;
    const isOpen = !isRecorded && open.messages.some(({ message }) => message.role === "assistant");
    const place = partsEnd === undefined ? undefined : { start, end: partsEnd };
    return {
      ...((isOpen ? undefined : spans.at(-2)) ?? open),
      start,
      parts: parts.map((lines) => spansOf(lines, row).at(-1)!.messages),
      place: place ? { ...place, fingerprint: fingerprintOf(file, place) } : isContinued ? known : undefined,
      isContinued,
      skippedBytes: offset - from,
    };
  } finally {
    closeSync(file);
  }
}

const NEWLINE = 0x0a;

/** Finds the line of the compaction before the span, and that of the compaction after it. */
function findSpan(
  file: number,
  { compaction, answer }: TailRow,
  isRecorded: boolean,
  after?: ReadPlace,
): { start: number; compactionAt: number | undefined } {
  const { size } = fstatSync(file);
  const floor = after?.end ?? Math.max(0, size - MAX_SPAN_BYTES);
  const buffer = Buffer.allocUnsafe(Math.min(STEP_BYTES, size - floor) + 2 * OVERLAP_BYTES);
  let compactionAt: number | undefined;
  let hasAnswer = false;
  for (let to = size; to > floor; ) {
    const from = Math.max(floor, to - STEP_BYTES);
    const first = Math.max(0, from - OVERLAP_BYTES);
    const last = Math.min(size, to + OVERLAP_BYTES);
    const bytes = buffer.subarray(0, readSync(file, buffer, 0, last - first, first));
    const places: number[] = [];
    // A search backwards is twenty times slower.
    for (let at = bytes.indexOf(compaction); at >= 0; at = bytes.indexOf(compaction, at + 1))
      if (first + at >= from && first + at < to) places.push(at);
    for (const at of places.toReversed()) {
      const start = first + bytes.lastIndexOf(NEWLINE, at) + 1;
      if (compactionAt !== undefined) return { start, compactionAt };
      if (!isRecorded && (hasAnswer || bytes.indexOf(answer, at) >= 0)) return { start, compactionAt };
      compactionAt = start;
    }
    hasAnswer ||= bytes.includes(answer);
    to = from;
  }
  // The parts before have an answer, so the compaction before them is an earlier one.
  const isBefore = after !== undefined && (!isRecorded || compactionAt !== undefined);
  return { start: isBefore ? after.start : 0, compactionAt };
}

/** The whole lines of a range, at most the last 1.5 MB. The last line of a file may lack its end. */
function readLines(file: number, from: number, end: number): { bytes: Buffer; offset: number } {
  const start = Math.max(from, end - MAX_READ_BYTES);
  const buffer = Buffer.allocUnsafe(end - start);
  const bytes = buffer.subarray(0, readSync(file, buffer, 0, buffer.length, start));
  const first = start === from ? 0 : bytes.indexOf(NEWLINE) + 1;
  return { bytes: bytes.subarray(first), offset: start + first };
}

/** Identifies the beginning of a file up to a place by samples, so that a rewritten file is noticed. */
function fingerprintOf(file: number, { start, end }: Omit<ReadPlace, "fingerprint">): string {
  const hash = createHash("sha256");
  const sample = Buffer.alloc(SAMPLE_BYTES);
  for (let at = 0; at < SAMPLES; at++) {
    const offset = Math.max(0, Math.floor(start + ((end - start) * (at + 1)) / SAMPLES) - SAMPLE_BYTES);
    hash.update(sample.subarray(0, readSync(file, sample, 0, SAMPLE_BYTES, offset)));
  }
  return hash.digest("hex");
}

const SAMPLES = 16;
const SAMPLE_BYTES = 256;

interface OffsetLine extends JsonLine {
  offset: number;
}

/**
 * Splits lines into parts of 512 KB or more, each up to the start of a new answer before `limit`, and the rest. Each call
 * has a result in its part, and later lines do not move the splits.
 */
function split(
  lines: readonly OffsetLine[],
  { answerId }: TailRow,
  limit: number,
): { parts: OffsetLine[][]; rest: OffsetLine[]; partsEnd: number | undefined } {
  const parts: OffsetLine[][] = [];
  let part: OffsetLine[] = [];
  let partsEnd: number | undefined;
  let answer: string | undefined;
  for (const line of lines) {
    const id = answerId?.(line.value);
    const isNew = id !== undefined && answer !== undefined && id !== answer;
    const isFirstOfLine = line.offset !== part.at(-1)?.offset;
    if (isNew && isFirstOfLine && line.offset < limit && line.offset - part[0]!.offset >= MIN_PART_BYTES) {
      parts.push(part);
      part = [];
      partsEnd = line.offset;
    }
    if (id !== undefined) answer = id;
    part.push(line);
  }
  return { parts, rest: part, partsEnd };
}

function spansOf(lines: readonly JsonLine[], row: TailRow): CompactionSpan[] {
  const { list, leaf } = row.read(lines, new NoticeLog());
  const entries = list
    .path(leaf)
    .map(
      ({ key: id, parent: parentId, at = "", draft }) => ({ ...draft, id, parentId, timestamp: at }) as Entry,
    );
  return compactionSpans(entries);
}

function linesOf(bytes: Buffer, offset: number, { compaction, copy }: TailRow): OffsetLine[] {
  const lines: OffsetLine[] = [];
  for (let start = 0, line = 1; start < bytes.length; line++) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline;
    const text = bytes.subarray(start, end);
    if (text.length <= MAX_LINE_BYTES || text.includes(compaction))
      for (const value of recordsOf(text, copy)) lines.push({ line, value, offset: offset + start });
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
