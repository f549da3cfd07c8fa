import { type PageData, type PageView, rowFlags, rowKinds } from "./page-data.ts";

/** One row of what a model saw. */
export interface ViewRow {
  row: number;
  /** Its content stood replaced. */
  isMasked: boolean;
}

/** What `viewRows` needs of a page. */
export type ViewedPage = Pick<PageData, "masks"> & {
  rows: Pick<PageData["rows"], "parents" | "kinds" | "flags">;
};

/**
 * What a model sees at the end of a path, oldest first: the summary of the live compaction, then what is in view. It decodes
 * what was told of the projection there, and decides nothing itself.
 * @param path rows from a root to the place, which is part of it
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
