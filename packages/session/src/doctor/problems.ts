import { isUtf8 } from "node:buffer";
import { type Entry, SESSION_VERSION } from "../entry.ts";
import type { DamagedLine, EntryIndex, EntryRecord } from "../read/entry-index.ts";
import { readHeader } from "../read/session-header.ts";
import type { SessionReader } from "../read/session-reader.ts";
import { isEssential } from "../read/sound-entry.ts";
import { withoutAncestor } from "../read/tree.ts";
import { LineWindow, readBytes } from "../store/line-reader.ts";

/**
 * A kind of problem in a session file.
 *
 * - `damaged_line`: no JSON object, or one that was cut off; its children hang on the nearest earlier entry.
 * - `torn_line`: the last line was cut off by a crash or a full disk.
 * - `nul_bytes`: a run of zero bytes, as a crash of the machine leaves behind.
 * - `not_an_entry`: valid JSON, but no object with a type and an id (`42`, `[]`, a second header).
 * - `damaged_header`: entries without a readable header before them.
 * - `byte_order_mark`: the file starts with one.
 * - `invalid_utf8`: bytes that are no UTF-8 (read as U+FFFD).
 * - `missing_parent`: the parent stands nowhere in the file; the entry hangs on the nearest earlier one.
 * - `late_parent`: the parent stands after its child.
 * - `cycle`: the entry is among its own ancestors; the link that closes the circle is not followed.
 * - `duplicate_id`: the id was used before; children mean the nearest earlier entry of that id.
 * - `missing_id`: an entry without an id; it is named after its line.
 * - `missing_message`: a message entry without a message; it is read as a `custom` entry `bonsai.lost`.
 * - `missing_summary`: a compaction or branch summary without a summary; it is read in the same way, and hides
 *   nothing.
 * - `odd_field`: a field of the header or of a known type of entry that holds something else than it should (a
 *   number for a name, a time that is none); it is read as if it held nothing.
 * - `missing_kept_entry`: a compaction whose first kept entry is not before it on its path; it keeps what
 *   the compaction before it kept.
 */
export type ProblemKind =
  | "damaged_line"
  | "torn_line"
  | "nul_bytes"
  | "not_an_entry"
  | "damaged_header"
  | "byte_order_mark"
  | "invalid_utf8"
  | "missing_parent"
  | "late_parent"
  | "cycle"
  | "duplicate_id"
  | "missing_id"
  | "missing_message"
  | "missing_summary"
  | "odd_field"
  | "missing_kept_entry";

/** One thing that is wrong in a session file, what reading makes of it, and what a repaired copy would do. */
export interface Problem {
  /** From 1, as an editor counts. */
  readonly line: number;
  readonly kind: ProblemKind;
  readonly entryId?: string;
  /** The finding. */
  readonly message: string;
  /** The remedy in a repaired copy. */
  readonly repair: string;
}

/** Something about an open session that its user should know. */
export interface SessionNotice {
  readonly code: /** The session can be read only; appending throws `session_read_only`. */
    | "read_only"
    /** The last line was cut off; it stays, and the next append begins a line of its own. */
    | "torn_line"
    /** Lines of the conversation are damaged, or entries of it are missing. */
    | "damaged_lines"
    /** Somebody else appends to the same file. Their entries are branches of their own. */
    | "foreign_entries"
    /** Another program cut off, replaced or deleted the file while it was open: the session continues in a copy. */
    | "restored_copy"
    /** The file lost entries while it was open, and no copy can be written yet. */
    | "entries_lost"
    /** The file has an older format: the session goes on in a copy. */
    | "migrated_copy";
  readonly message: string;
}

/**
 * Reads and parses every line of a session. Returns its problems in file order.
 * @param visit called with each entry, for a caller that needs all of them too. Default: none
 */
export function findProblems(reader: SessionReader, visit?: (entry: Entry) => void): Problem[] {
  const problems = [...headerProblems(reader)];
  const headerIsDamaged = problems.some(({ kind }) => kind === "damaged_header");
  const index = reader.index();
  // Bodies first: one that turns out to be lost changes what its children hang on.
  const lines = new LineWindow(reader.store);
  for (let number = 0; number < index.count; number += 1) {
    const line = lines.bytes(index.place(number));
    const odd: string[] = [];
    const entry = reader.parse(number, line, odd);
    if (entry !== undefined) visit?.(entry);
    problems.push(...recordProblems({ index, number, line, odd, isDamaged: entry === undefined }));
  }
  for (const damaged of index.damagedLines()) {
    // The first line is reported already.
    if (damaged.line > 1 || !headerIsDamaged) problems.push(lineProblem(damaged));
  }
  for (const number of index.unnamed()) {
    const record = index.record(number);
    problems.push(
      problem(record, "missing_id", "An entry has no id.", `gets the id ${record.id}, from its line number`),
    );
  }
  for (const stray of index.strays()) {
    if (!index.isDamaged(stray.record)) problems.push(strayProblem(stray, index));
  }
  problems.push(...compactionProblems(reader));
  return problems.sort((one, other) => one.line - other.line);
}

function* headerProblems(reader: SessionReader): Generator<Problem> {
  const { store } = reader;
  const start = readBytes(store, { offset: 0, lengthBytes: Math.min(3, store.size()) });
  if (start.toString("hex") === "efbbbf") {
    yield {
      line: 1,
      kind: "byte_order_mark",
      message: "The file starts with a byte-order mark.",
      repair: "removed",
    };
  }
  const { damage, odd } = readHeader(store);
  if (damage !== undefined) {
    yield {
      line: 1,
      kind: "damaged_header",
      message: `${damage}; its entries are read as version ${SESSION_VERSION}.`,
      repair: "a valid header is written",
    };
  }
  for (const field of odd) {
    yield {
      line: 1,
      kind: "odd_field",
      message: `The header field ${field} has an invalid value.`,
      repair: "treated as empty",
    };
  }
}

const lineMessages: Record<DamagedLine["kind"], string> = {
  damaged_line: "The line is not a JSON object.",
  nul_bytes: "The line contains zero bytes, probably from a crash of the machine.",
  not_an_entry: "The line is valid JSON but not an entry.",
  header: "The file contains a second session header.",
};

function lineProblem(damaged: DamagedLine): Problem {
  if (damaged.keeps !== undefined) {
    const entries = damaged.keeps === 1 ? "the entry" : `the ${damaged.keeps} entries`;
    return {
      line: damaged.line,
      kind: "damaged_line",
      message: `The line is not a single JSON object. Bonsai still reads ${entries} in it.`,
      repair: "each entry gets a line of its own; the rest is removed",
    };
  }
  const torn = !damaged.ended && damaged.kind === "damaged_line";
  const kind = damaged.kind === "header" ? "not_an_entry" : damaged.kind;
  return {
    line: damaged.line,
    kind: torn ? "torn_line" : kind,
    message: torn ? "The last line was cut off." : lineMessages[damaged.kind],
    repair: torn ? "removed" : "removed; its children move to the nearest earlier entry",
  };
}

function* recordProblems(of: {
  index: EntryIndex;
  number: number;
  line: Buffer;
  /** Names of fields with an invalid value. */
  odd: readonly string[];
  isDamaged: boolean;
}): Generator<Problem> {
  const { index, number, line, odd, isDamaged } = of;
  if (!isDamaged && odd.length === 0 && isUtf8(line) && index.earlierOfSameId(number) < 0) return;
  const record = index.record(number);
  if (isDamaged) {
    yield index.isOpenLine(number)
      ? problem(record, "torn_line", "The last line was cut off.", "removed")
      : problem(
          record,
          "damaged_line",
          "The entry's body is damaged.",
          "removed; its children move to its parent",
        );
    return;
  }
  if (!isUtf8(line)) {
    yield problem(record, "invalid_utf8", "Some bytes are not UTF-8.", "each becomes U+FFFD");
  }
  if (index.earlierOfSameId(number) >= 0) {
    const repair = "it gets a new id; its children follow it";
    yield problem(record, "duplicate_id", `The id ${record.id} is already in use.`, repair);
  }
  for (const field of odd) yield fieldProblem(record, field);
}

function fieldProblem(record: EntryRecord, field: string): Problem {
  const lost = "replaced by a placeholder that the model does not see";
  if (record.type === "message" && field === "message") {
    return problem(record, "missing_message", "A message entry has no message.", lost);
  }
  if (field === "summary") {
    const what =
      record.type === "compaction"
        ? "A compaction has no summary. It hides nothing."
        : "A branch summary has no text.";
    return problem(record, "missing_summary", what, lost);
  }
  const repair = isEssential(record.type, field) ? lost : "treated as empty";
  return problem(
    record,
    "odd_field",
    `The field ${field} of an entry of type ${record.type} has an invalid value.`,
    repair,
  );
}

function strayProblem(stray: ReturnType<EntryIndex["strays"]>[number], index: EntryIndex): Problem {
  const record = index.record(stray.record);
  const place = record.parentId === null ? "becomes a root" : `becomes a child of ${record.parentId}`;
  const parent = `The parent ${stray.parentId}`;
  const found: Record<typeof stray.kind, string> = {
    missing_parent:
      stray.parentId === undefined
        ? `The entry names no parent. It ${place}.`
        : `${parent} is not in the file. The entry ${place}.`,
    late_parent: `${parent} comes after the entry.`,
    cycle: `${parent} is a descendant of the entry. The entry ${place}.`,
  };
  const repair = stray.kind === "late_parent" ? "the parent is written first" : "written with the new parent";
  return problem(record, stray.kind, found[stray.kind], repair);
}

function* compactionProblems(reader: SessionReader): Generator<Problem> {
  const index = reader.index();
  const kept = new Map<number, string>();
  for (const number of index.numbersOf("compaction")) {
    const entry = reader.entryAt(number);
    if (entry?.type === "compaction") kept.set(number, entry.firstKeptEntryId);
  }
  for (const number of withoutAncestor(index, kept)) {
    const message = `The first kept entry ${kept.get(number)} is not before the compaction.`;
    const repair = "kept; the model sees the entries kept by the previous compaction";
    yield problem(index.record(number), "missing_kept_entry", message, repair);
  }
}

function problem(record: EntryRecord, kind: ProblemKind, message: string, repair: string): Problem {
  return { line: record.line, kind, entryId: record.id, message, repair };
}

/** @param count number of damaged lines; 0 if only entries are missing */
export function damageText(count: number): string {
  const lines = `${count} ${count === 1 ? "line" : "lines"} of the session file ${count === 1 ? "is" : "are"} damaged.`;
  const damage = count === 0 ? "Entries are missing from the session file." : lines;
  return `${damage} Messages may be missing from the conversation.`;
}

/** A path as an argument of a command. */
export function shownFile(file = "FILE"): string {
  return /\s/.test(file) ? `"${file}"` : file;
}
