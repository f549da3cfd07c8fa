import type { SessionTree } from "@bonsai-agent/session";

/**
 * The part of a tree that a filter and a search let through, as a tree of its own: each entry hangs on its nearest
 * ancestor that is let through. A segment is a run without branches; folding it leaves its first entry.
 */
export class TreeLayout {
  /** Visible positions, in the order of drawing. */
  readonly shown: readonly number[];
  readonly #parents: Int32Array;
  /** Nearest visible entry, itself included. */
  readonly #nearest: Int32Array;
  readonly #childCounts: Int32Array;
  readonly #starts: Int32Array;
  readonly #lastSiblings: Int32Array;
  readonly #sizes: Int32Array;
  #rootCount = 0;

  constructor({ order, parents }: TreeShape, lets: (at: number) => boolean) {
    const size = parents.length;
    this.#parents = new Int32Array(size).fill(none);
    this.#nearest = new Int32Array(size).fill(none);
    this.#childCounts = new Int32Array(size);
    this.#starts = new Int32Array(size).fill(none);
    this.#lastSiblings = new Int32Array(size + 1).fill(none);
    this.#sizes = new Int32Array(size);
    this.shown = this.#sift(order, parents, lets);
    this.#measure();
  }

  /** The nearest visible entry: itself or an ancestor; else `none`. */
  nearest(at: number): number {
    return at === none ? none : this.#nearest[at]!;
  }

  parent(at: number): number {
    return this.#parents[at]!;
  }

  /** The first entry of an entry's segment. */
  segmentStart(at: number): number {
    return this.#starts[at]!;
  }

  isSegmentStart(at: number): boolean {
    return this.#starts[at] === at;
  }

  /** True for an entry with siblings: it has its own guide. */
  isBranch(at: number): boolean {
    const parent = this.#parents[at]!;
    return parent === none ? this.#rootCount > 1 : this.#childCounts[parent]! > 1;
  }

  isLastSibling(at: number): boolean {
    return this.#lastSiblings[this.#parents[at]! + 1] === at;
  }

  below(at: number): number {
    return this.#sizes[at]! - 1;
  }

  /** The positions to draw, without entries below a folded one. */
  rows(folded: ReadonlySet<number>): number[] {
    if (folded.size === 0) return [...this.shown];
    const rows: number[] = [];
    for (let index = 0; index < this.shown.length; ) {
      const at = this.shown[index]!;
      rows.push(at);
      index += folded.has(at) ? this.#sizes[at]! : 1;
    }
    return rows;
  }

  #sift(order: Int32Array, parents: Int32Array, lets: (at: number) => boolean): number[] {
    const shown: number[] = [];
    for (const at of order) {
      const parent = parents[at]!;
      const above = parent === none ? none : this.#nearest[parent]!;
      if (!lets(at)) {
        this.#nearest[at] = above;
        continue;
      }
      shown.push(at);
      this.#nearest[at] = at;
      this.#parents[at] = above;
      this.#lastSiblings[above + 1] = at;
      if (above === none) this.#rootCount += 1;
      else this.#childCounts[above]! += 1;
    }
    return shown;
  }

  #measure(): void {
    for (const at of this.shown) {
      const parent = this.#parents[at]!;
      const begins = parent === none || this.#childCounts[parent]! > 1;
      this.#starts[at] = begins ? at : this.#starts[parent]!;
    }
    for (let index = this.shown.length - 1; index >= 0; index -= 1) {
      const at = this.shown[index]!;
      this.#sizes[at]! += 1;
      const parent = this.#parents[at]!;
      if (parent !== none) this.#sizes[parent]! += this.#sizes[at]!;
    }
  }
}

export const none = -1;

/** The positions of a tree's entries in the order of drawing, and their parents. */
export interface TreeShape {
  /** From the roots down, the active branch first. */
  readonly order: Int32Array;
  /** By position; `none` for a root. */
  readonly parents: Int32Array;
}

/** Lays a tree out in linear time, without recursion. */
export function treeShape(tree: SessionTree): TreeShape {
  const parents = new Int32Array(tree.entries.length).fill(none);
  const order: number[] = [];
  const stack = tree.roots.toReversed();
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    order.push(at);
    const children = tree.children(at);
    for (let index = children.length - 1; index >= 0; index -= 1) {
      parents[children[index]!] = at;
      stack.push(children[index]!);
    }
  }
  return { order: Int32Array.from(order), parents };
}
