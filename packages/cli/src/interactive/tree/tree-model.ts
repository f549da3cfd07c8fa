import type { SessionTree } from "@bonsai-agent/session";
import { none, TreeLayout, type TreeShape, treeShape } from "./tree-layout.ts";
import { filterAfter, isWork, type TreeFilter, TreeSearch } from "./tree-search.ts";

interface TreeModelOptions {
  tree: SessionTree;
  leafId: string | null;
  /** Default "default"; "all" where that does not show the entry to begin at. */
  filter?: TreeFilter;
  /** The entry to begin at. Default: where the session stands. */
  atEntryId?: string | undefined;
}

/**
 * The tree as one goes about in it. Owner of what is folded and of the selection, which always is a row that is shown,
 * where there is any.
 */
export class TreeModel extends TreeSearch {
  readonly #shape: TreeShape;
  readonly #leaf: number;
  readonly #folded = new Set<number>();
  #marks: number[] = [];
  #layout: TreeLayout;
  #rows: number[] = [];
  /** Where the user went last; what is selected is the nearest of it that is shown. */
  #wanted: number;
  #selectedRow = none;

  constructor({ tree, leafId, filter = "default", atEntryId }: TreeModelOptions) {
    super(tree, filter);
    const positionOf = (entryId: string) => tree.entries.findLastIndex(({ id }) => id === entryId);
    this.#shape = treeShape(tree);
    this.#leaf = leafId === null ? none : positionOf(leafId);
    this.#wanted = atEntryId === undefined ? this.#leaf : positionOf(atEntryId);
    this.#layout = this.#newLayout();
    this.#place();
    if (atEntryId !== undefined && this.selected !== this.#wanted) this.setFilter("all");
  }

  /** What is shown of the tree without folds. */
  get layout(): TreeLayout {
    return this.#layout;
  }

  /** Positions of the entries in the order of drawing. */
  get rows(): readonly number[] {
    return this.#rows;
  }

  /** Row of the selection; -1 where nothing is shown. */
  get selectedRow(): number {
    return this.#selectedRow;
  }

  get selected(): number | undefined {
    return this.#rows[this.#selectedRow];
  }

  /** The entry where the session stands: its leaf, or the nearest above that is shown; -1 for none. */
  get here(): number {
    return this.#layout.nearest(this.#leaf);
  }

  /** The entries that are marked to be compared, the one marked first first; two at most. */
  get marks(): readonly number[] {
    return this.#marks;
  }

  /** Marks an entry, or takes its mark away; a third mark takes the place of the first. */
  toggleMark(at: number): void {
    const others = this.#marks.filter((each) => each !== at);
    this.#marks = others.length < this.#marks.length ? others : [...others, at].slice(-2);
  }

  isFolded(at: number): boolean {
    return this.#folded.has(at);
  }

  /** True where a fold can begin: at the first entry of a segment, if anything hangs below. */
  canFold(at: number): boolean {
    return this.#layout.isSegmentStart(at) && this.#layout.below(at) > 0;
  }

  /** Moves the selection by rows; it stays within what is shown. */
  move(rows: number): void {
    if (this.#rows.length === 0) return;
    this.#selectedRow = Math.min(this.#rows.length - 1, Math.max(0, this.#selectedRow + rows));
    this.#wanted = this.#rows[this.#selectedRow]!;
  }

  /** Folds the segment that begins at the selection, else goes up to where its segment begins. */
  foldOrUp(): void {
    const at = this.selected;
    if (at === undefined) return;
    if (this.canFold(at) && !this.isFolded(at)) this.#folded.add(at);
    else if (this.#layout.isSegmentStart(at)) this.#wanted = this.#segmentAbove(at);
    else this.#wanted = this.#layout.segmentStart(at);
    this.#place();
  }

  /** Unfolds the segment that begins at the selection, else goes down to where the next segment begins. */
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
    // What a longer search finds, a shorter one has found: once all is read, only that is looked at.
    const among = search.startsWith(this.search) && this.searchProgress === 1 ? this.#layout : undefined;
    super.setSearch(search);
    this.#start(among === undefined ? undefined : (at) => among.nearest(at) === at);
  }

  override setLabel(at: number, label: string | undefined): void {
    super.setLabel(at, label);
    this.#layout = this.#newLayout();
    this.#place();
  }

  /** Takes into account what was read meanwhile. @returns true where that changed what is shown */
  sift(): boolean {
    if (!this.takeNews()) return false;
    const before = this.#layout.shown.length;
    this.#layout = this.#newLayout();
    this.#place();
    return this.#layout.shown.length !== before;
  }

  /** True where going to an entry would change nothing: only notes about other entries follow it. */
  isHere(at: number): boolean {
    return !this.#isWrittenAnew(at) && this.#workAbove(this.#leaf) === at;
  }

  /** True where work would be left behind by going to an entry: more than notes about other entries. */
  leavesWork(at: number): boolean {
    const { parents } = this.#shape;
    const kept = new Set<number>();
    const target = this.#isWrittenAnew(at) ? parents[at]! : at;
    for (let up = target; up !== none; up = parents[up]!) kept.add(up);
    for (let up = this.#leaf; up !== none && !kept.has(up); up = parents[up]!)
      if (isWork(this.entryAt(up))) return true;
    return false;
  }

  /** A message that is taken into the editor: one goes to what stands before it. */
  #isWrittenAnew(at: number): boolean {
    const { kind, type } = this.entryAt(at);
    return (type === "message" && kind === "user") || (type === "custom_message" && kind !== "pin");
  }

  /** The nearest entry, itself included, that is more than a note about others. */
  #workAbove(at: number): number {
    let up = at;
    while (up !== none && !isWork(this.entryAt(up))) up = this.#shape.parents[up]!;
    return up;
  }

  /** What is shown has changed by the user's wish: folds of another tree mean nothing in this one. */
  #start(among?: (at: number) => boolean): void {
    this.#folded.clear();
    this.#layout = this.#newLayout(among);
    this.#place();
  }

  #newLayout(among: (at: number) => boolean = () => true): TreeLayout {
    return new TreeLayout(this.#shape, (at) => among(at) && this.lets(at));
  }

  #place(): void {
    for (const at of this.#folded) if (!this.canFold(at)) this.#folded.delete(at);
    this.#rows = this.#layout.rows(this.#folded);
    const row = this.#rowOf(this.#layout.nearest(this.#wanted));
    this.#selectedRow = row === none ? Math.min(0, this.#rows.length - 1) : row;
  }

  /** The row of an entry or of the fold that it is in. */
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
