import { isUtf8 } from "node:buffer";
import { type Entry, SESSION_VERSION } from "../entry.ts";
import type { DamagedLine, EntryIndex, EntryRecord } from "../read/entry-index.ts";
import { readHeader } from "../read/session-header.ts";
import type { SessionReader } from "../read/session-reader.ts";
import { isEssential } from "../read/sound-entry.ts";
import { withoutAncestor } from "../read/tree.ts";
import { LineWindow, readBytes } from "../store/line-reader.ts";

/** A kind of problem in a session file. */
export type ProblemKind =
  /** The line is no JSON object, or was cut off. Its children move to the nearest earlier entry. */
  | "damaged_line"
  /** A crash or a full disk cut off the last line. */
  | "torn_line"
  /** A crash of the machine left a run of zero bytes. */
  | "nul_bytes"
  /** The line is valid JSON, but no object with a type and an id: `42`, `[]`, a second header. */
  | "not_an_entry"
  /** The entries have no readable header before them. */
  | "damaged_header"
  /** The file starts with a byte-order mark. */
  | "byte_order_mark"
  /** Some bytes are no UTF-8. They are read as U+FFFD. */
  | "invalid_utf8"
  /** The parent is not in the file. The entry moves to the nearest earlier one. */
  | "missing_parent"
  /** The parent comes after its child. */
  | "late_parent"
  /** The entry is among its own ancestors. The link that closes the cycle is not followed. */
  | "cycle"
  /** An earlier entry has the same id. Children belong to the nearest earlier entry with their parent's id. */
  | "duplicate_id"
  /** The entry has no id. It is named after its line. */
  | "missing_id"
  /** The message entry has no message. It is read as a `custom` entry `bonsai.lost`. */
  | "missing_message"
  /** The compaction or branch summary has no summary. It is read in the same way, and hides nothing. */
  | "missing_summary"
  /** A field of the header or of a known entry type has an invalid value. It is read as empty. */
  | "odd_field"
  /** The compaction's first kept entry is not before it. It keeps the entries that the compaction before it kept. */
  | "missing_kept_entry";

/** A problem in a session file, and its remedy in a repaired copy. */
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
    const invalidFields: string[] = [];
    const entry = reader.parse(number, line, invalidFields);
    if (entry !== undefined) visit?.(entry);
    const isText = isUtf8(line);
    const isRepeated = index.earlierOfSameId(number) >= 0;
    if (entry === undefined) problems.push(damagedBody(index, number));
    else if (!isText || isRepeated || invalidFields.length > 0)
      problems.push(...bodyProblems(index.record(number), { isText, isRepeated, invalidFields }));
  }
  for (const damaged of index.damagedLines()) {
    // The first line is reported already.
    if (damaged.line > 1 || !headerIsDamaged) problems.push(lineProblem(damaged));
  }
  for (const number of index.unnamed()) {
    const record = index.record(number);
    const repair = `gets the id ${record.id}, from its line number`;
    problems.push(problem(record, "missing_id", "An entry has no id.", repair));
  }
  for (const invalid of index.invalidParents()) {
    if (!index.isDamaged(invalid.record)) problems.push(parentProblem(invalid, index));
  }
  problems.push(...compactionProblems(reader));
  return problems.sort((one, other) => one.line - other.line);
}

function* headerProblems({ store }: SessionReader): Generator<Problem> {
  const first = { line: 1 };
  const start = readBytes(store, { offset: 0, lengthBytes: Math.min(3, store.size()) });
  if (start.toString("hex") === "efbbbf")
    yield problem(first, "byte_order_mark", "The file starts with a byte-order mark.", "removed");
  const { damage, invalidFields } = readHeader(store);
  if (damage !== undefined) {
    const message = `${damage}; its entries are read as version ${SESSION_VERSION}.`;
    yield problem(first, "damaged_header", message, "a valid header is written");
  }
  for (const field of invalidFields)
    yield problem(first, "odd_field", `The header field ${field} has an invalid value.`, "treated as empty");
}

const lineMessages: Record<DamagedLine["kind"], string> = {
  damaged_line: "The line is not a JSON object.",
  nul_bytes: "The line contains zero bytes, probably from a crash of the machine.",
  not_an_entry: "The line is valid JSON but not an entry.",
  header: "The file contains a second session header.",
};

function lineProblem({ line, kind, ended, keeps }: DamagedLine): Problem {
  if (keeps !== undefined) {
    const entries = keeps === 1 ? "the entry" : `the ${keeps} entries`;
    const message = `The line is not a single JSON object. Bonsai still reads ${entries} in it.`;
    const repair = "each entry gets a line of its own; the rest is removed";
    return problem({ line }, "damaged_line", message, repair);
  }
  if (!ended && kind === "damaged_line")
    return problem({ line }, "torn_line", "The last line was cut off.", "removed");
  const repair = "removed; its children move to the nearest earlier entry";
  return problem({ line }, kind === "header" ? "not_an_entry" : kind, lineMessages[kind], repair);
}

function damagedBody(index: EntryIndex, number: number): Problem {
  const record = index.record(number);
  return index.isOpenLine(number)
    ? problem(record, "torn_line", "The last line was cut off.", "removed")
    : problem(
        record,
        "damaged_line",
        "The entry's body is damaged.",
        "removed; its children move to its parent",
      );
}

function* bodyProblems(
  record: EntryRecord,
  of: {
    isText: boolean;
    isRepeated: boolean;
    /** Names of fields with an invalid value. */
    invalidFields: readonly string[];
  },
): Generator<Problem> {
  if (!of.isText) yield problem(record, "invalid_utf8", "Some bytes are not UTF-8.", "each becomes U+FFFD");
  if (of.isRepeated) {
    const repair = "it gets a new id; its children follow it";
    yield problem(record, "duplicate_id", `The id ${record.id} is already in use.`, repair);
  }
  for (const field of of.invalidFields) yield fieldProblem(record, field);
}

function fieldProblem(record: EntryRecord, field: string): Problem {
  const { type } = record;
  const lost = "replaced by a placeholder that the model does not see";
  if (type === "message" && field === "message")
    return problem(record, "missing_message", "A message entry has no message.", lost);
  if (field === "summary") {
    const isCompaction = type === "compaction";
    const message = isCompaction
      ? "A compaction has no summary. It hides nothing."
      : "A branch summary has no text.";
    return problem(record, "missing_summary", message, lost);
  }
  const repair = isEssential(type, field) ? lost : "treated as empty";
  const message = `The field ${field} of an entry of type ${type} has an invalid value.`;
  return problem(record, "odd_field", message, repair);
}

function parentProblem(
  invalid: ReturnType<EntryIndex["invalidParents"]>[number],
  index: EntryIndex,
): Problem {
  const record = index.record(invalid.record);
  const place = record.parentId === null ? "becomes a root" : `becomes a child of ${record.parentId}`;
  const parent = `The parent ${invalid.parentId}`;
  if (invalid.kind === "late_parent")
    return problem(record, invalid.kind, `${parent} comes after the entry.`, "the parent is written first");
  const isCycle = invalid.kind === "cycle";
  const found = isCycle ? `${parent} is a descendant of the entry.` : `${parent} is not in the file.`;
  const message =
    invalid.parentId === undefined
      ? `The entry names no parent. It ${place}.`
      : `${found} The entry ${place}.`;
  return problem(record, invalid.kind, message, "written with the new parent");
}

function* compactionProblems(reader: SessionReader): Generator<Problem> {
  for (const [number, kept] of compactionsWithoutKept(reader)) {
    const message = `The first kept entry ${kept} is not before the compaction.`;
    const repair = "kept; the model sees the entries kept by the previous compaction";
    yield problem(reader.index().record(number), "missing_kept_entry", message, repair);
  }
}

/** By number: the compactions whose first kept entry is not before them, with its id. */
export function compactionsWithoutKept(reader: SessionReader): Map<number, string> {
  const index = reader.index();
  const kept = new Map<number, string>();
  for (const { entry, number } of reader.entriesAt(index.numbersOf("compaction")))
    if (entry.type === "compaction") kept.set(number, entry.firstKeptEntryId);
  return new Map(withoutAncestor(index, kept).map((number) => [number, kept.get(number)!]));
}

function problem(
  { line, id }: { line: number; id?: string },
  kind: ProblemKind,
  message: string,
  repair: string,
): Problem {
  return { line, kind, ...(id !== undefined && { entryId: id }), message, repair };
}
