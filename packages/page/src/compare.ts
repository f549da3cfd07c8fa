import { type EntryBody, type PageData, rowFlags, rowKinds } from "./page-data.ts";

/** What was done on the way to one place, since it parted from another; as `branchDiff` of compaction tells it. */
export interface ComparedSide {
  /** Oldest first. */
  rows: number[];
  turns: number;
  /** Each list most recently touched first, no file in two of them. */
  created: string[];
  modified: string[];
  read: string[];
  commands: Array<{ text: string; state: string; row: number }>;
  compactions: Array<{ row: number; isUndone: boolean }>;
  branchSummaries: number[];
  /** Of the user; oldest first. */
  words: number[];
  /** The last answer with a text; -1 without one. */
  lastAnswer: number;
  /** Dollars that are known, and whether some are not. */
  costUsd: number;
  isCostWhole: boolean;
}

export interface Comparison {
  relation: "same" | "ahead" | "behind" | "parted" | "unrelated";
  /** Row of the deepest entry that both descend from; -1 for none. */
  commonAncestor: number;
  /** Entries from the root down to it. */
  commonEntries: number;
  a: ComparedSide;
  b: ComparedSide;
  /** Files that both sides touched, sorted, under the names that A has for them. */
  sharedFiles: string[];
}

type ComparedPage = Pick<PageData, "rows" | "requests" | "compactions" | "masks"> & {
  session: Pick<PageData["session"], "cwd">;
};

/** Rows of both sides: what has to be read before two places can be compared. */
export function sidesOf(
  parents: readonly number[],
  a: number,
  b: number,
): { common: number[]; a: number[]; b: number[] } {
  const [pathA, pathB] = [pathTo(parents, a), pathTo(parents, b)];
  let shared = 0;
  while (shared < pathA.length && pathA[shared] === pathB[shared]) shared += 1;
  return { common: pathA.slice(0, shared), a: pathA.slice(shared), b: pathB.slice(shared) };
}

/** Compares two places by their rows; -1 is the place before every entry. @param bodies of the rows of both sides */
export function compareRows(
  page: ComparedPage,
  a: number,
  b: number,
  bodies: ReadonlyMap<number, EntryBody>,
): Comparison {
  const sides = sidesOf(page.rows.parents, a, b);
  const sideA = sideOf(page, sides.a, bodies);
  const sideB = sideOf(page, sides.b, bodies);
  const commonAncestor = sides.common.at(-1) ?? -1;
  return {
    relation: relationOf(a, b, sides, commonAncestor),
    commonAncestor,
    commonEntries: sides.common.length,
    a: sideA,
    b: sideB,
    sharedFiles: sharedFiles(page.session.cwd, sideA, sideB),
  };
}

function relationOf(
  a: number,
  b: number,
  sides: { a: number[]; b: number[] },
  ancestor: number,
): Comparison["relation"] {
  if (a === b) return "same";
  if (sides.a.length === 0) return "behind";
  if (sides.b.length === 0) return "ahead";
  return ancestor < 0 ? "unrelated" : "parted";
}

function sideOf(page: ComparedPage, rows: number[], bodies: ReadonlyMap<number, EntryBody>): ComparedSide {
  const kind = (row: number) => rowKinds[page.rows.kinds[row]!];
  const flag = (row: number, name: keyof typeof rowFlags) => (page.rows.flags[row]! & rowFlags[name]) !== 0;
  const on = new Set(rows);
  const omitted = new Map<number, boolean>();
  for (const { row, target } of page.masks) if (on.has(row)) omitted.set(target, flag(row, "omits"));
  const said = rows.filter((row) => flag(row, "speaks") && omitted.get(row) !== true);
  const requests = page.requests.filter(({ row }) => on.has(row));
  return {
    rows,
    turns: said.filter((row) => flag(row, "turn")).length,
    ...filesOf(said, bodies),
    commands: commandsOf(said, bodies),
    compactions: page.compactions
      .filter(({ row }) => on.has(row))
      .map(({ row, undoneAt, redoneAt }) => ({
        row,
        isUndone: lastOn(on, undoneAt) > lastOn(on, redoneAt),
      })),
    branchSummaries: rows.filter((row) => kind(row) === "branch summary"),
    words: said.filter((row) => kind(row) === "user"),
    lastAnswer: said.findLast((row) => kind(row) === "assistant" && hasText(bodies.get(row))) ?? -1,
    costUsd: requests.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0),
    isCostWhole: requests.every(({ costUsd }) => costUsd !== null),
  };
}

function hasText(body: EntryBody | undefined): boolean {
  return body?.parts.some((part) => part.type === "markdown") === true;
}

function commandsOf(
  rows: readonly number[],
  bodies: ReadonlyMap<number, EntryBody>,
): ComparedSide["commands"] {
  const asked = new Set(rows.flatMap((row) => bodies.get(row)?.work?.calls?.map(({ id }) => id) ?? []));
  return rows.flatMap((row) => {
    const command = bodies.get(row)?.work?.command;
    if (command === undefined || (command.callId !== undefined && !asked.has(command.callId))) return [];
    return [{ text: command.text, state: command.state, row }];
  });
}

function lastOn(on: ReadonlySet<number>, rows: readonly number[]): number {
  return rows.findLast((row) => on.has(row)) ?? -1;
}

/** What one call, or one result, touched; a call whose result is an error counts for nothing. */
interface Touched {
  read: string[];
  modified: string[];
  created: string[];
  failed: boolean;
}

function filesOf(
  rows: readonly number[],
  bodies: ReadonlyMap<number, EntryBody>,
): Pick<ComparedSide, "created" | "modified" | "read"> {
  const messages: Touched[][] = [];
  const calls = new Map<string, Touched>();
  for (const row of rows) {
    const { calls: made = [], ended, listed } = bodies.get(row)?.work ?? {};
    const touched = made.map(({ id, ...files }) => ({ id, call: { ...files, failed: false } }));
    for (const { id, call } of touched) calls.set(id, call);
    const call = ended === undefined ? undefined : calls.get(ended.id);
    if (call !== undefined && ended!.failed) call.failed = true;
    if (call !== undefined && ended!.created) call.created = call.modified;
    messages.push([
      ...(listed === undefined ? [] : [{ ...listed, created: [], failed: false }]),
      ...touched.map(({ call: each }) => each),
    ]);
  }
  const done = messages.toReversed().flatMap((each) => each.filter(({ failed }) => !failed));
  const modified = new Set(done.flatMap((each) => each.modified));
  const read = new Set(done.flatMap((each) => each.read));
  const created = new Set(done.flatMap((each) => each.created));
  return {
    created: [...modified].filter((file) => created.has(file)),
    modified: [...modified].filter((file) => !created.has(file)),
    read: [...read].filter((file) => !modified.has(file)),
  };
}

/** Agents name a file now from the folder, now from the root. */
function sharedFiles(cwd: string, a: ComparedSide, b: ComparedSide): string[] {
  const all = ({ created, modified, read }: ComparedSide) => [...created, ...modified, ...read];
  const inB = new Set(all(b).map((file) => absolute(cwd, file)));
  return all(a)
    .filter((file) => inB.has(absolute(cwd, file)))
    .sort();
}

function absolute(cwd: string, file: string): string {
  const names: string[] = [];
  for (const name of (file.startsWith("/") ? file : `${cwd}/${file}`).split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}

function pathTo(parents: readonly number[], row: number): number[] {
  const path: number[] = [];
  for (let at = row; at >= 0; at = parents[at]!) path.push(at);
  return path.reverse();
}
