import { type Entry, LEAF_CUSTOM_TYPE } from "@bonsai-agent/session";

/** What a tree is made of. A session reads its file for each of them anew, so they are asked for once. */
export interface TreeSource {
  /** All, in file order. */
  entries: readonly Entry[];
  /** From a root to the current position. */
  path: readonly Entry[];
}

/** A session's entries as a tree of positions in file order. Children and roots come with the active branch first. */
export interface SessionTree {
  readonly entries: readonly Entry[];
  readonly roots: readonly number[];
  /** Children that are worth showing: a childless record of a moved leaf is not. */
  children(at: number): readonly number[];
  /** True on the path from a root to the current position. */
  isActive(at: number): boolean;
  labelOf(at: number): string | undefined;
}

const none = -1;

/** Builds the tree in time linear in the number of entries, without recursion. */
export function sessionTree({ entries, path }: TreeSource): SessionTree {
  const positions = new Map(entries.map((entry, at) => [entry.id, at]));
  const parents = parentPositions(entries, positions);
  const active = new Set(path.map((entry) => positions.get(entry.id)!));
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
  const labels = labelsOf(entries);
  return {
    entries,
    roots,
    children: (at) => children.get(at) ?? [],
    isActive: (at) => active.has(at),
    labelOf: (at) => labels.get(entries[at]!.id),
  };
}

/** The number of ends that the tree has: one for a session without branches. */
export function branchCount(tree: SessionTree): number {
  return tree.entries.reduce((ends, entry, at) => {
    const end = tree.children(at).length === 0 && !isLeafRecord(entry);
    return ends + Number(end);
  }, 0);
}

/** The latest label of each entry that has one. */
export function labelsOf(entries: readonly Entry[]): Map<string, string> {
  const labels = new Map<string, string>();
  for (const entry of entries) {
    if (entry.type !== "label") continue;
    if (entry.label === undefined) labels.delete(entry.targetId);
    else labels.set(entry.targetId, entry.label);
  }
  return labels;
}

function parentPositions(entries: readonly Entry[], positions: ReadonlyMap<string, number>): Int32Array {
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

function shownPositions(entries: readonly Entry[], parents: Int32Array): number[] {
  const hasChild = new Uint8Array(entries.length);
  for (const parent of parents) if (parent !== none) hasChild[parent] = 1;
  return [...entries.keys()].filter((at) => hasChild[at] === 1 || !isLeafRecord(entries[at]!));
}

function isLeafRecord(entry: Entry): boolean {
  return entry.type === "custom" && entry.customType === LEAF_CUSTOM_TYPE;
}

function listAt(lists: Map<number, number[]>, key: number): number[] {
  const list = lists.get(key) ?? [];
  if (list.length === 0) lists.set(key, list);
  return list;
}
