import type { EntryIndex } from "./entry-index.ts";

/**
 * Of the records that each name an id, those that neither have it nor hang below an entry that has it. One
 * walk through the whole tree, however many ask: asking each for its ancestors would take hours in a file
 * made for it.
 */
export function withoutAncestor(index: EntryIndex, named: ReadonlyMap<number, string>): number[] {
  if (named.size === 0) return [];
  const wanted = new Set(named.values());
  /** How many entries on the current path have the id. */
  const onPath = new Map<string, number>();
  const count = (number: number, change: number) => {
    const id = index.id(number);
    if (wanted.has(id)) onPath.set(id, (onPath.get(id) ?? 0) + change);
  };
  const lacking: number[] = [];
  walk(index, {
    enter: (number) => {
      count(number, 1);
      const id = named.get(number);
      if (id !== undefined && !onPath.get(id)) lacking.push(number);
    },
    leave: (number) => count(number, -1),
  });
  return lacking.sort((one, other) => one - other);
}

/** Walks the tree from its roots, depth first. */
function walk(
  index: EntryIndex,
  visitor: { enter: (number: number) => void; leave: (number: number) => void },
): void {
  const { firstChild, nextSibling, firstRoot } = childLinks(index);
  for (let root = firstRoot; root >= 0; root = nextSibling[root]!) {
    visitor.enter(root);
    for (let at = root; at >= 0; ) {
      const child = firstChild[at]!;
      if (child >= 0) {
        // Taken off, so that coming back finds the next one.
        firstChild[at] = nextSibling[child]!;
        visitor.enter(child);
        at = child;
      } else {
        visitor.leave(at);
        at = at === root ? -1 : index.parent(at);
      }
    }
  }
}

function childLinks(index: EntryIndex): {
  firstChild: Int32Array;
  nextSibling: Int32Array;
  firstRoot: number;
} {
  const firstChild = new Int32Array(index.count).fill(-1);
  const nextSibling = new Int32Array(index.count).fill(-1);
  let firstRoot = -1;
  for (let number = index.count - 1; number >= 0; number -= 1) {
    if (index.isDamaged(number)) continue;
    const parent = index.parent(number);
    nextSibling[number] = parent < 0 ? firstRoot : firstChild[parent]!;
    if (parent < 0) firstRoot = number;
    else firstChild[parent] = number;
  }
  return { firstChild, nextSibling, firstRoot };
}
