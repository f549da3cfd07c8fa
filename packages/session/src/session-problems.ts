import { isUtf8 } from "node:buffer";
import { SESSION_VERSION } from "./entry.ts";
import type { DamagedLine, EntryIndex, EntryRecord } from "./entry-index.ts";
import { readBytes } from "./line-reader.ts";
import { LineWindow } from "./line-window.ts";
import { withoutAncestor } from "./named-ancestors.ts";
import type { Problem, ProblemKind } from "./problem.ts";
import { readHeader } from "./session-header.ts";
import type { SessionReader } from "./session-reader.ts";
import { isEssential } from "./sound-entry.ts";

/** Looks through a whole session: every line is read and parsed. In file order. */
export function findProblems(reader: SessionReader): Problem[] {
  const problems = [...headerProblems(reader)];
  const headerIsDamaged = problems.some(({ kind }) => kind === "damaged_header");
  const index = reader.index();
  // Bodies first: one that turns out to be lost changes what its children hang on.
  const lines = new LineWindow(reader.store);
  for (let number = 0; number < index.count; number += 1) {
    problems.push(...recordProblems({ reader, index, number, line: lines.bytes(index.place(number)) }));
  }
  for (const damaged of index.damagedLines()) {
    // The first line is told already.
    if (damaged.line > 1 || !headerIsDamaged) problems.push(lineProblem(damaged));
  }
  for (const number of index.unnamed()) {
    const record = index.record(number);
    problems.push(
      problem(record, "missing_id", "An entry without an id.", `named ${record.id}, after its line`),
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
      repair: "left out",
    };
  }
  const { damage, odd } = readHeader(store);
  if (damage !== undefined) {
    yield {
      line: 1,
      kind: "damaged_header",
      message: `${damage}; the entries are read as version ${SESSION_VERSION}.`,
      repair: "a sound header is written",
    };
  }
  for (const field of odd) {
    yield {
      line: 1,
      kind: "odd_field",
      message: `The field ${field} of the header does not hold what it should.`,
      repair: "read and repaired as if it held nothing",
    };
  }
}

const lineMessages: Record<DamagedLine["kind"], string> = {
  damaged_line: "The line is no JSON object.",
  nul_bytes: "The line holds zero bytes, as a crash of the machine leaves behind.",
  not_an_entry: "The line is valid JSON, but no entry.",
  header: "A second session header.",
};

function lineProblem(damaged: DamagedLine): Problem {
  const torn = !damaged.ended && damaged.kind === "damaged_line";
  const kind = damaged.kind === "header" ? "not_an_entry" : damaged.kind;
  return {
    line: damaged.line,
    kind: torn ? "torn_line" : kind,
    message: torn ? "The last line was cut off." : lineMessages[damaged.kind],
    repair: torn ? "left out" : "left out; entries that hung on it hang on the nearest earlier one",
  };
}

function* recordProblems(of: {
  reader: SessionReader;
  index: EntryIndex;
  number: number;
  line: Buffer;
}): Generator<Problem> {
  const { reader, index, number, line } = of;
  const record = index.record(number);
  const odd: string[] = [];
  const entry = reader.parse(number, line, odd);
  if (entry === undefined) {
    yield index.isOpenLine(number)
      ? problem(record, "torn_line", "The last line was cut off.", "left out")
      : problem(
          record,
          "damaged_line",
          "The entry's body is damaged.",
          "left out; its children hang on its parent",
        );
    return;
  }
  if (!isUtf8(line)) {
    yield problem(record, "invalid_utf8", "Some bytes are no UTF-8.", "each is replaced by U+FFFD");
  }
  if (index.earlierOfSameId(number) >= 0) {
    const repair = "it gets a new id; its children, which come after it, follow";
    yield problem(record, "duplicate_id", `The id ${record.id} was used before.`, repair);
  }
  for (const field of odd) yield fieldProblem(record, field);
}

function fieldProblem(record: EntryRecord, field: string): Problem {
  const lost = "read and repaired as a `custom` entry `bonsai.lost`, which the model does not see";
  if (record.type === "message" && field === "message") {
    return problem(record, "missing_message", "A message entry without a message.", lost);
  }
  if (field === "summary") {
    const what =
      record.type === "compaction"
        ? "A compaction without a summary: it hides nothing."
        : "A branch summary without a summary.";
    return problem(record, "missing_summary", what, lost);
  }
  const repair = isEssential(record.type, field) ? lost : "read and repaired as if it held nothing";
  return problem(
    record,
    "odd_field",
    `The field ${field} of a ${record.type} entry does not hold what it should.`,
    repair,
  );
}

function strayProblem(stray: ReturnType<EntryIndex["strays"]>[number], index: EntryIndex): Problem {
  const record = index.record(stray.record);
  const place = record.parentId === null ? "becomes a root" : `hangs on ${record.parentId}`;
  const named = stray.parentId === undefined ? "no parent" : `the parent ${stray.parentId}`;
  const found: Record<typeof stray.kind, string> = {
    missing_parent: `The entry names ${named}, which the file does not have; it ${place}.`,
    late_parent: `The entry names ${named}, which stands after it.`,
    cycle: `The entry names ${named}, which descends from it; it ${place}.`,
  };
  const repair =
    stray.kind === "late_parent" ? "the parent is written first" : "written with the parent it hangs on";
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
    const repair = "kept; the model sees what the compaction before it kept";
    yield problem(index.record(number), "missing_kept_entry", message, repair);
  }
}

function problem(record: EntryRecord, kind: ProblemKind, message: string, repair: string): Problem {
  return { line: record.line, kind, entryId: record.id, message, repair };
}
