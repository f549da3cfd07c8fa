import type { OutlineEntry } from "../../session-outline.ts";
import type { SessionTree } from "../../session-tree.ts";
import { DeepSearch } from "./deep-search.ts";
import { type Preview, PreviewIndex } from "./preview-index.ts";
import { filterAfter, filterLets, isWork, type TreeFilter } from "./tree-filter.ts";
import { TreeLayout } from "./tree-layout.ts";
import { none, type TreeShape, treeShape } from "./tree-shape.ts";

export interface TreeModelOptions {
  tree: SessionTree;
  leafId: string | null;
  /** Default "default". */
  filter?: TreeFilter;
}

/**
 * The tree as one goes about in it: what is shown, folded, searched for and selected. Owner of the selection, which always
 * is a row that is shown, where there is any.
 */
export class TreeModel {
  readonly #tree: SessionTree;
  readonly #shape: TreeShape;
  readonly #leaf: number;
  readonly #previews: PreviewIndex;
  readonly #labels = new Map<number, string | undefined>();
  readonly #folded = new Set<number>();
  #filter: TreeFilter;
  #search = "";
  /** Of the search; undefined while nothing is searched for. */
  #deep: DeepSearch | undefined;
  /** True where what was read since may change what is shown. */
  #isStale = false;
  #layout: TreeLayout;
  #rows: number[] = [];
  /** Where the user went last; what is selected is the nearest of it that is shown. */
  #wanted: number;
  #selectedRow = none;

  constructor({ tree, leafId, filter = "default" }: TreeModelOptions) {
    this.#tree = tree;
    this.#shape = treeShape(tree);
    this.#leaf = leafId === null ? none : tree.entries.findLastIndex(({ id }) => id === leafId);
    this.#previews = new PreviewIndex(tree);
    this.#filter = filter;
    this.#wanted = this.#leaf;
    this.#layout = this.#newLayout();
    this.#place();
  }

  get filter(): TreeFilter {
    return this.#filter;
  }

  get search(): string {
    return this.#search;
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

  /** The row where the session stands: its leaf or the nearest above that is shown; -1 for none. */
  get here(): number {
    return this.#layout.nearest(this.#leaf);
  }

  /** How much of the tree the search knows already, from 0 to 1. */
  get searchProgress(): number {
    return Math.min(this.#previews.progress, this.#deep?.progress ?? 1);
  }

  entryAt(at: number): OutlineEntry {
    return this.#tree.entries[at]!;
  }

  isActive(at: number): boolean {
    return this.#tree.isActive(at);
  }

  labelOf(at: number): string | undefined {
    return this.#labels.has(at) ? this.#labels.get(at) : this.#tree.labelOf(at);
  }

  /** Read when it is asked for the first time. */
  preview(at: number): Preview {
    return this.#previews.preview(at);
  }

  /** The words that tell what an entry is; of one that is found by what stands deep inside of it, those around that. */
  wordsOf(at: number): string {
    return this.#deep?.excerpt(at) ?? this.preview(at).text;
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

  /** Selects an entry, or the nearest above it that is shown. */
  select(at: number): void {
    this.#wanted = at;
    this.#place();
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

  setFilter(filter: TreeFilter): void {
    this.#filter = filter;
    this.#deep = this.#newDeepSearch();
    this.#start();
  }

  nextFilter(steps = 1): void {
    this.setFilter(filterAfter(this.#filter, steps));
  }

  setSearch(search: string): void {
    if (search === this.#search) return;
    // What a longer search finds, a shorter one has found: once all is read, only that is looked at.
    const isLonger = search.startsWith(this.#search);
    const among = isLonger && this.searchProgress === 1 ? this.#layout : undefined;
    this.#search = search;
    this.#deep = this.#newDeepSearch(isLonger ? this.#deep : undefined);
    this.#start(among === undefined ? undefined : (at) => among.nearest(at) === at);
  }

  /** Shows a label that was given to an entry meanwhile. */
  setLabel(at: number, label: string | undefined): void {
    this.#labels.set(at, label);
    this.#deep = this.#newDeepSearch();
    this.#layout = this.#newLayout();
    this.#place();
  }

  /** Reads more entries for the search; what is shown does not change before `sift`. */
  read(entries: number): void {
    if (this.#previews.isComplete) this.#deep?.advance(entries);
    else this.#previews.advance(entries);
    this.#isStale = true;
  }

  /** Takes into account what was read meanwhile. @returns true where that changed what is shown */
  sift(): boolean {
    if (!this.#isStale || (this.#deep === undefined && this.#filter !== "no tools")) return false;
    this.#isStale = false;
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

  get #words(): string[] {
    return this.#search.toLowerCase().split(/\s+/).filter(Boolean);
  }

  #newDeepSearch(earlier?: DeepSearch): DeepSearch | undefined {
    const words = this.#words;
    if (words.length === 0) return undefined;
    return new DeepSearch({
      ...{ tree: this.#tree, words, earlier },
      isWanted: (at) => this.#lets(at) && !this.#hasInView(at, words),
      labelOf: (at) => this.labelOf(at),
    });
  }

  #newLayout(among: (at: number) => boolean = () => true): TreeLayout {
    const words = this.#words;
    const isFound = (at: number) => this.#hasInView(at, words) || this.#deep?.excerpt(at) !== undefined;
    return new TreeLayout(this.#shape, (at) => among(at) && this.#lets(at) && isFound(at));
  }

  #lets(at: number): boolean {
    const isOnlyCalls = this.#previews.known(at)?.isOnlyCalls ?? false;
    return filterLets(this.#filter, { entry: this.entryAt(at), label: this.labelOf(at), isOnlyCalls });
  }

  /** True where all words stand in what a row shows. */
  #hasInView(at: number, words: readonly string[]): boolean {
    if (words.length === 0) return true;
    const text = this.#previews.known(at)?.searched ?? this.entryAt(at).kind;
    const label = this.labelOf(at)?.toLowerCase();
    return words.every((word) => text.includes(word) || label?.includes(word) === true);
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
