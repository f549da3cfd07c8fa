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
  /** True for a compaction that was taken back: where it is on the active path, on that path. */
  isUndone(at: number): boolean;
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
  const families = new Families(parents, { active, isShown: shownIn(entries, parents) });
  const labels = session.labels();
  const undone = undonePositions(entries, { positions, active });
  return {
    entries,
    roots: families.children(none),
    children: (at) => families.children(at),
    isActive: (at) => active[at] === 1,
    labelOf: (at) => labels.get(entries[at]!.id),
    isUndone: (at) => undone.has(at),
    entry: (at) => session.entryAt(entries[at]!.number)!,
  };
}

function undonePositions(
  entries: readonly OutlineEntry[],
  { positions, active }: { positions: ReadonlyMap<string, number>; active: Uint8Array },
): ReadonlySet<number> {
  const undone = new Set<number>();
  for (const [at, { undoes }] of entries.entries()) {
    const compaction = undoes === undefined ? undefined : positions.get(undoes);
    // What was taken back on one branch counts on another.
    if (compaction !== undefined && (active[compaction] === 0 || active[at] === 1)) undone.add(compaction);
  }
  return undone;
}

/** Who hangs below whom, the active branch first, then in file order; without an object for each entry. */
class Families {
  /** By position + 1, so that the roots stand at 0. */
  readonly #firstChild: Int32Array;
  readonly #nextSibling: Int32Array;

  constructor(
    parents: Int32Array,
    { active, isShown }: { active: Uint8Array; isShown: (at: number) => boolean },
  ) {
    this.#firstChild = new Int32Array(parents.length + 1).fill(none);
    this.#nextSibling = new Int32Array(parents.length).fill(none);
    for (const isActive of [0, 1])
      for (let at = parents.length - 1; at >= 0; at -= 1)
        if (active[at] === isActive && isShown(at)) this.#putFirst(at, parents[at]!);
  }

  children(at: number): number[] {
    const children: number[] = [];
    for (let child = this.#firstChild[at + 1]!; child !== none; child = this.#nextSibling[child]!)
      children.push(child);
    return children;
  }

  #putFirst(at: number, parent: number): void {
    this.#nextSibling[at] = this.#firstChild[parent + 1]!;
    this.#firstChild[parent + 1] = at;
  }
}

/** The number of ends that the tree has: one for a session without branches. */
export function branchCount(tree: SessionTree): number {
  return tree.entries.reduce((ends, entry, at) => {
    const end = tree.children(at).length === 0 && !entry.isLeafRecord;
    return ends + Number(end);
  }, 0);
}

/** 1 at a position and at all above it. */
function ancestry(parents: Int32Array, from: number): Uint8Array {
  const found = new Uint8Array(parents.length);
  for (let at = from; at !== none; at = parents[at]!) found[at] = 1;
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

function shownIn(entries: readonly OutlineEntry[], parents: Int32Array): (at: number) => boolean {
  const hasChild = new Uint8Array(entries.length);
  for (const parent of parents) if (parent !== none) hasChild[parent] = 1;
  return (at) => hasChild[at] === 1 || !entries[at]!.isLeafRecord;
}
