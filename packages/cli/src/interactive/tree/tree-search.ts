import type { SessionTree } from "../../session-tree.ts";
import { DeepSearch } from "./deep-search.ts";
import { type Preview, PreviewIndex } from "./preview-index.ts";
import { filterLets, type TreeFilter } from "./tree-filter.ts";

/** Owner of which entries of a tree are shown: by the filter, and by the words that are searched for. */
export class TreeSearch {
  readonly #tree: SessionTree;
  readonly #previews: PreviewIndex;
  /** Those that were given meanwhile. */
  readonly #labels = new Map<number, string | undefined>();
  #filter: TreeFilter;
  #text = "";
  /** Of the text, in lower case. */
  #words: readonly string[] = [];
  /** Undefined while nothing is searched for. */
  #deep: DeepSearch | undefined;
  /** True where what was read since may change what is shown. */
  #isStale = false;

  constructor(tree: SessionTree, filter: TreeFilter) {
    this.#tree = tree;
    this.#previews = new PreviewIndex(tree);
    this.#filter = filter;
  }

  get filter(): TreeFilter {
    return this.#filter;
  }

  /** What is searched for, as it was typed; empty for nothing. */
  get text(): string {
    return this.#text;
  }

  /** How much of the tree is searched, from 0 to 1. */
  get progress(): number {
    return Math.min(this.#previews.progress, this.#deep?.progress ?? 1);
  }

  /** Whether an entry is shown, as far as it is known. */
  lets(at: number): boolean {
    return this.#passes(at) && (this.#hasInView(at) || this.#deep?.excerpt(at) !== undefined);
  }

  labelOf(at: number): string | undefined {
    return this.#labels.has(at) ? this.#labels.get(at) : this.#tree.labelOf(at);
  }

  /** Read when it is asked for the first time. */
  preview(at: number): Preview {
    return this.#previews.preview(at);
  }

  /** Some words of an entry that was found by what stands deep inside of it: those around that. */
  excerpt(at: number): string | undefined {
    return this.#deep?.excerpt(at);
  }

  setFilter(filter: TreeFilter): void {
    this.#filter = filter;
    this.#deep = this.#newDeepSearch();
  }

  setText(text: string): void {
    const isLonger = text.startsWith(this.#text);
    this.#text = text;
    this.#words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.#deep = this.#newDeepSearch(isLonger ? this.#deep : undefined);
  }

  setLabel(at: number, label: string | undefined): void {
    this.#labels.set(at, label);
    this.#deep = this.#newDeepSearch();
  }

  /** Reads more entries. */
  read(entries: number): void {
    if (this.#previews.isComplete) this.#deep?.advance(entries);
    else this.#previews.advance(entries);
    this.#isStale = true;
  }

  /** True once where what was read since the last call may change what is shown. */
  takeNews(): boolean {
    if (!this.#isStale || (this.#deep === undefined && this.#filter !== "no tools")) return false;
    this.#isStale = false;
    return true;
  }

  #newDeepSearch(earlier?: DeepSearch): DeepSearch | undefined {
    const words = this.#words;
    if (words.length === 0) return undefined;
    return new DeepSearch({
      ...{ tree: this.#tree, words, earlier },
      isWanted: (at) => this.#passes(at) && !this.#hasInView(at),
      labelOf: (at) => this.labelOf(at),
    });
  }

  #passes(at: number): boolean {
    const isOnlyCalls = this.#previews.known(at)?.isOnlyCalls ?? false;
    return filterLets(this.#filter, { entry: this.#tree.entries[at]!, label: this.labelOf(at), isOnlyCalls });
  }

  /** True where all words stand in what a row shows. */
  #hasInView(at: number): boolean {
    if (this.#words.length === 0) return true;
    const text = this.#previews.known(at)?.searched ?? this.#tree.entries[at]!.kind;
    const label = this.labelOf(at)?.toLowerCase();
    return this.#words.every((word) => text.includes(word) || label?.includes(word) === true);
  }
}
