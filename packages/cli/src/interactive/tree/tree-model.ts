import type { SessionTree } from "@bonsai-agent/session";
import { isWork } from "../../views/tree-view.ts";
import { none, TreeLayout, type TreeShape, treeShape } from "./tree-layout.ts";
import { filterAfter, type TreeFilter, TreeSearch } from "./tree-search.ts";

interface TreeModelOptions {
  tree: SessionTree;
  leafId: string | null;
  /** Default "default"; "all" if that hides the entry to begin at. */
  filter?: TreeFilter;
  /** The entry to begin at. Default: the session's leaf. */
  atEntryId?: string | undefined;
  /** Ids of the messages that the user hid from the model. Default: none. */
  hiddenIds?: ReadonlySet<string>;
}

/** The tree with folds and a selection. Invariant: the selection is a visible row, if there is any. */
export class TreeModel extends TreeSearch {
  readonly #shape: TreeShape;
  readonly #leaf: number;
  readonly #folded = new Set<number>();
  #layout: TreeLayout;
  #rows: number[] = [];
  /** The latest entry the user went to; its nearest visible entry is selected. */
  #wanted: number;
  #selectedRow = none;
  /** Ids of the messages that the user hid from the model. */
  hiddenIds: ReadonlySet<string>;

  constructor({ tree, leafId, filter = "default", atEntryId, hiddenIds = new Set() }: TreeModelOptions) {
    super(tree, filter);
    this.hiddenIds = hiddenIds;
    const positionOf = (entryId: string) => tree.entries.findLastIndex(({ id }) => id === entryId);
    this.#shape = treeShape(tree);
    this.#leaf = leafId === null ? none : positionOf(leafId);
    this.#wanted = atEntryId === undefined ? this.#leaf : positionOf(atEntryId);
    this.#layout = this.#newLayout();
    this.#place();
    if (atEntryId !== undefined && this.selected !== this.#wanted) this.setFilter("all");
  }

  /** The visible tree, without folds. */
  get layout(): TreeLayout {
    return this.#layout;
  }

  get rows(): readonly number[] {
    return this.#rows;
  }

  /** Row of the selection; -1 without rows. */
  get selectedRow(): number {
    return this.#selectedRow;
  }

  get selected(): number | undefined {
    return this.#rows[this.#selectedRow];
  }

  /** The leaf, or its nearest visible ancestor; -1 for none. */
  get here(): number {
    return this.#layout.nearest(this.#leaf);
  }

  isFolded(at: number): boolean {
    return this.#folded.has(at);
  }

  /** True for the first entry of a segment with entries below. */
  canFold(at: number): boolean {
    return this.#layout.isSegmentStart(at) && this.#layout.below(at) > 0;
  }

  /** Moves the selection by rows, up to an end. */
  move(rows: number): void {
    if (this.#rows.length === 0) return;
    this.#selectedRow = Math.min(this.#rows.length - 1, Math.max(0, this.#selectedRow + rows));
    this.#wanted = this.#rows[this.#selectedRow]!;
  }

  /** Folds the segment that starts at the selection, else goes up to its start. */
  foldOrUp(): void {
    const at = this.selected;
    if (at === undefined) return;
    if (this.canFold(at) && !this.isFolded(at)) this.#folded.add(at);
    else if (this.#layout.isSegmentStart(at)) this.#wanted = this.#segmentAbove(at);
    else this.#wanted = this.#layout.segmentStart(at);
    this.#place();
  }

  /** Unfolds the segment that starts at the selection, else goes down to the next start. */
  unfoldOrDown(): void {
    const at = this.selected;
    if (at === undefined) return;
    if (!this.#folded.delete(at)) this.#wanted = this.#segmentBelow();
    this.#place();
  }

  override setFilter(filter: TreeFilter): void {
    super.setFilter(filter);
    this.#start();
  }

  nextFilter(steps = 1): void {
    this.setFilter(filterAfter(this.filter, steps));
  }

  override setSearch(search: string): void {
    if (search === this.search) return;
    super.setSearch(search);
    this.#start();
  }

  override setLabel(at: number, label: string | undefined): void {
    super.setLabel(at, label);
    this.#layout = this.#newLayout();
    this.#place();
  }

  /** Applies the entries read since. @returns true if the visible entries changed */
  sift(): boolean {
    if (!this.takeNews()) return false;
    const before = this.#layout.shown.length;
    this.#layout = this.#newLayout();
    this.#place();
    return this.#layout.shown.length !== before;
  }

  /** True if going to an entry changes nothing: only notes about other entries follow it. */
  isHere(at: number): boolean {
    return !this.#isWrittenAnew(at) && this.#workAbove(this.#leaf) === at;
  }

  /** True if going to an entry leaves more behind than notes about other entries. */
  leavesWork(at: number): boolean {
    const { parents } = this.#shape;
    const kept = new Set<number>();
    const target = this.#isWrittenAnew(at) ? parents[at]! : at;
    for (let up = target; up !== none; up = parents[up]!) kept.add(up);
    for (let up = this.#leaf; up !== none && !kept.has(up); up = parents[up]!)
      if (isWork(this.entryAt(up))) return true;
    return false;
  }

  /** True for a message that returns to the editor: the target is its parent. */
  #isWrittenAnew(at: number): boolean {
    const { kind, type, isForModelOnly } = this.entryAt(at);
    if (type === "custom_message") return kind !== "pin" && !isForModelOnly;
    return type === "message" && kind === "user";
  }

  #workAbove(at: number): number {
    let up = at;
    while (up !== none && !isWork(this.entryAt(up))) up = this.#shape.parents[up]!;
    return up;
  }

  /** Lays out a new selection of entries, without the folds of the earlier one. */
  #start(): void {
    this.#folded.clear();
    this.#layout = this.#newLayout();
    this.#place();
  }

  #newLayout(): TreeLayout {
    return new TreeLayout(this.#shape, (at) => this.lets(at));
  }

  #place(): void {
    for (const at of this.#folded) if (!this.canFold(at)) this.#folded.delete(at);
    this.#rows = this.#layout.rows(this.#folded);
    const row = this.#rowOf(this.#layout.nearest(this.#wanted));
    this.#selectedRow = row === none ? Math.min(0, this.#rows.length - 1) : row;
  }

  /** The row of an entry or of its fold. */
  #rowOf(shown: number): number {
    let visible = shown;
    for (let at = shown; at !== none; ) {
      const start = this.#layout.segmentStart(at);
      if (this.#folded.has(start)) visible = start;
      at = this.#layout.parent(start);
    }
    return visible === none ? none : this.#rows.indexOf(visible);
  }

  #segmentAbove(at: number): number {
    const parent = this.#layout.parent(at);
    return parent === none ? at : this.#layout.segmentStart(parent);
  }

  #segmentBelow(): number {
    for (let row = this.#selectedRow + 1; row < this.#rows.length; row += 1)
      if (this.#layout.isSegmentStart(this.#rows[row]!)) return this.#rows[row]!;
    return this.#rows.at(-1)!;
  }
}
