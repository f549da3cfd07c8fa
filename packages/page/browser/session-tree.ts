import { computed } from "@preact/signals";
import { type RowKind, rowFlags, rowKinds } from "../src/page-data.ts";
import {
  branchEnds as endsOf,
  isQuiet as isQuietRow,
  pathTo as rowsTo,
  spokenAt as spokenRow,
} from "../src/paths.ts";
import { address } from "./address.ts";
import { page } from "./page-store.ts";

/** Row by id. The latest row of a repeated id counts, as in the session. */
export const rowOf = computed(() => new Map((page.value?.rows.ids ?? []).map((id, row) => [id, row])));

/** The end of the branch that is shown: that of the entry in the address, else the session's position. */
export const shownLeaf = computed(() => {
  const to = address.value;
  const id = "id" in to ? to.id : undefined;
  const row = id === undefined ? undefined : rowOf.value.get(id);
  const leaf = page.value?.leaf ?? -1;
  if (row === undefined) return leaf;
  if (pathTo(leaf).includes(row)) return leaf;
  return deepestBelow(row);
});

/** Rows from the root to the end of the branch that is shown. */
export const shownPath = computed(() => pathTo(shownLeaf.value));

export function pathTo(row: number): number[] {
  return rowsTo(page.value?.rows.parents ?? [], row);
}

/** Children by row, in file order; those of -1 are the roots. */
export const childrenOf = computed(() => {
  const children = new Map<number, number[]>();
  for (const [row, parent] of (page.value?.rows.parents ?? []).entries()) {
    const known = children.get(parent);
    if (known === undefined) children.set(parent, [row]);
    else known.push(row);
  }
  return children;
});

/** The latest entry below a row. */
function deepestBelow(row: number): number {
  let at = row;
  for (;;) {
    const below = childrenOf.value.get(at);
    if (below === undefined) return at;
    at = below.at(-1)!;
  }
}

/** True for an entry that a reader of the conversation skips. */
export function isQuiet(row: number): boolean {
  return page.value === undefined || isQuietRow(page.value.rows, row);
}

/** The last entry up to a row that a reader does not skip; -1 for none. */
export function spokenAt(row: number): number {
  return page.value === undefined ? -1 : spokenRow(page.value.rows, row);
}

/** The session's position; -1 before every entry. */
export const hereRow = computed(() => spokenAt(page.value?.leaf ?? -1));

export const branchEnds = computed(() => (page.value === undefined ? [] : endsOf(page.value.rows)));

export function kindOf(row: number): RowKind {
  return rowKinds[page.value?.rows.kinds[row] ?? -1] ?? "custom";
}

/** Words for readers; other kinds are their own word. */
const kindNames: Partial<Readonly<Record<RowKind, string>>> = {
  assistant: "agent",
  command: "user command",
  name: "session name",
  leaf: "position",
  thinking: "thinking level",
  custom: "record",
};

export function kindName(row: number): string {
  const kind = kindOf(row);
  return kindNames[kind] ?? kind;
}

/** As a heading. */
export function kindTitle(row: number): string {
  const name = kindName(row);
  return `${name[0]!.toUpperCase()}${name.slice(1)}`;
}

export function hasFlag(row: number, flag: keyof typeof rowFlags): boolean {
  return ((page.value?.rows.flags[row] ?? 0) & rowFlags[flag]) !== 0;
}

export const labelOf = computed(() => new Map(page.value?.labels ?? []));

/** Row of the valid mask on the shown branch, by masked row. */
export const maskOf = computed(() => {
  const on = new Set(shownPath.value);
  const masks = new Map<number, number>();
  for (const { row, target } of page.value?.masks ?? []) if (on.has(row)) masks.set(target, row);
  return masks;
});

export const requestOf = computed(
  () => new Map((page.value?.requests ?? []).map((request) => [request.row, request])),
);
