import type { Entry, Session } from "@bonsai-agent/session";
import type { OutlineEntry } from "./session-outline.ts";

/** A session's entries as a tree of positions in file order. Children and roots come with the active branch first. */
export interface SessionTree {
  readonly entries: readonly OutlineEntry[];
  readonly roots: readonly number[];
  /** Children that are worth showing: a childless record of a moved leaf is not. */
  children(at: number): readonly number[];
  /** True on the path from a root to the current position. */
  isActive(at: number): boolean;
  labelOf(at: number): string | undefined;
  /** The whole entry, read anew. */
  entry(at: number): Entry;
}

const none = -1;

/**
 * Builds the tree in time linear in the number of entries, without recursion.
 * @param entries of all branches in file order.
 */
export function sessionTree(session: Session, entries: readonly OutlineEntry[]): SessionTree {
  const positions = new Map(entries.map((entry, at) => [entry.id, at]));
  const parents = parentPositions(entries, positions);
  const active = ancestry(parents, positions.get(session.leafId ?? "") ?? none);
  const shown = shownPositions(entries, parents);
  const activeFirst = (a: number, b: number) => Number(active.has(b)) - Number(active.has(a)) || a - b;
  const roots: number[] = [];
  const children = new Map<number, number[]>();
  for (const at of shown) {
    const siblings = parents[at] === none ? roots : listAt(children, parents[at]!);
    siblings.push(at);
  }
  roots.sort(activeFirst);
  for (const siblings of children.values()) if (siblings.length > 1) siblings.sort(activeFirst);
  const labels = session.labels();
  return {
    entries,
    roots,
    children: (at) => children.get(at) ?? [],
    isActive: (at) => active.has(at),
    labelOf: (at) => labels.get(entries[at]!.id),
    entry: (at) => session.entryAt(entries[at]!.number)!,
  };
}

/** The number of ends that the tree has: one for a session without branches. */
export function branchCount(tree: SessionTree): number {
  return tree.entries.reduce((ends, entry, at) => {
    const end = tree.children(at).length === 0 && !entry.isLeafRecord;
    return ends + Number(end);
  }, 0);
}

/** A position and all above it. */
function ancestry(parents: Int32Array, from: number): Set<number> {
  const found = new Set<number>();
  for (let at = from; at !== none; at = parents[at]!) found.add(at);
  return found;
}

function parentPositions(
  entries: readonly OutlineEntry[],
  positions: ReadonlyMap<string, number>,
): Int32Array {
  const parents = Int32Array.from(entries, ({ parentId }) =>
    parentId === null ? none : (positions.get(parentId) ?? none),
  );
  cutCycles(parents);
  return parents;
}

/** A damaged file can hold a cycle, that no root leads to: the walk up that comes back to itself ends there. */
function cutCycles(parents: Int32Array): void {
  const walkOf = new Int32Array(parents.length).fill(none);
  for (let start = 0; start < parents.length; start += 1) {
    let at = start;
    while (walkOf[at] === none) {
      walkOf[at] = start;
      const parent = parents[at]!;
      if (parent === none) break;
      if (walkOf[parent] === start) parents[at] = none;
      else at = parent;
    }
  }
}

function shownPositions(entries: readonly OutlineEntry[], parents: Int32Array): number[] {
  const hasChild = new Uint8Array(entries.length);
  for (const parent of parents) if (parent !== none) hasChild[parent] = 1;
  return [...entries.keys()].filter((at) => hasChild[at] === 1 || !entries[at]!.isLeafRecord);
}

function listAt(lists: Map<number, number[]>, key: number): number[] {
  const list = lists.get(key) ?? [];
  if (list.length === 0) lists.set(key, list);
  return list;
}
