import {
  type PageData,
  type PageRows,
  type PageView,
  type RowKind,
  rowFlags,
  rowKinds,
} from "./page-data.ts";

// Paths through a session's tree, for the program and the browser. This file imports nothing that only one of them has.

/** Rows from the root to a row, which is the last one. */
export function pathTo(parents: readonly number[], row: number): number[] {
  const path: number[] = [];
  for (let at = row; at >= 0; at = parents[at] ?? -1) path.push(at);
  return path.reverse();
}

const quietKinds = new Set<RowKind>(["mask", "label", "leaf", "usage", "custom", "name"]);

type TreeRows = Pick<PageRows, "parents" | "kinds" | "flags">;

/** True for an entry that a reader of the conversation skips: a record, or a hidden text. */
export function isQuiet({ kinds, flags }: TreeRows, row: number): boolean {
  return quietKinds.has(rowKinds[kinds[row]!] ?? "custom") || (flags[row]! & rowFlags.hidden) !== 0;
}

/** The last row up to this one that a reader does not skip; -1 for none. */
export function spokenAt(rows: TreeRows, row: number): number {
  let at = row;
  while (at >= 0 && isQuiet(rows, at)) at = rows.parents[at]!;
  return at;
}

/** The last row of each branch that a reader does not skip, newest first. */
export function branchEnds(rows: TreeRows): number[] {
  const { parents } = rows;
  /** Rows that have such a row below; parents come before their children. */
  const continued = new Set<number>();
  const ends: number[] = [];
  for (let row = parents.length - 1; row >= 0; row -= 1) {
    if (isQuiet(rows, row) && !continued.has(row)) continue;
    if (!continued.has(row)) ends.push(row);
    continued.add(parents[row]!);
  }
  return ends;
}

/** One row of a model's context. */
export interface ViewRow {
  row: number;
  isMasked: boolean;
}

/** The data that `viewRows` reads. */
export type ViewedPage = Pick<PageData, "masks"> & { rows: TreeRows };

/**
 * The context of a model at the end of a path, oldest first: the summary of the live compaction, then the rows in view.
 * It reads the recorded view of the projection and decides nothing itself.
 */
export function viewRows(page: ViewedPage, path: readonly number[], view: PageView): ViewRow[] {
  const { kinds, flags } = page.rows;
  const hidden = new Set(view.hidden);
  const on = new Set(path);
  const masked = new Map<number, boolean>();
  const first = path.indexOf(view.from);
  const inView = first < 0 ? [] : path.slice(first);
  const from = inView[0] ?? 0;
  for (const { row, target } of page.masks)
    if (row >= from && on.has(row)) masked.set(target, (flags[row]! & rowFlags.omits) !== 0);
  const seen = inView.filter(
    (row) =>
      rowKinds[kinds[row]!] !== "compaction" &&
      (flags[row]! & rowFlags.speaks) !== 0 &&
      !hidden.has(row) &&
      masked.get(row) !== true,
  );
  const rows = seen.map((row) => ({ row, isMasked: masked.has(row) }));
  return view.compaction < 0
    ? rows
    : [{ row: view.compaction, isMasked: masked.has(view.compaction) }, ...rows];
}
