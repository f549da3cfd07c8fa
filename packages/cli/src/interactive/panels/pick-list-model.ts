import { fuzzyFilter } from "../terminal/tui.ts";

export interface PickListModelOptions<Item> {
  items: readonly Item[];
  /** Tells items apart: the selection stays on its item when the list changes. */
  key: (item: Item) => string;
  /** What a search looks at. */
  text: (item: Item) => string;
  /** True for one that was found in another way: it is a match whatever its text. Default: none is. */
  isFound?: (item: Item) => boolean;
  query?: string;
  /** Key of the item that is selected at first. Default: the first item. */
  selected?: string | undefined;
}

/**
 * Owner of what a pick list shows and what is selected in it; knows no terminal. Items that hold every word of the
 * query, or are found otherwise, stay in their order; where none does, those that hold its letters come, the best first.
 */
export class PickListModel<Item> {
  readonly #key: (item: Item) => string;
  readonly #text: (item: Item) => string;
  readonly #isFound: (item: Item) => boolean;
  #items: readonly Item[];
  #query: string;
  #matches: readonly Item[] = [];
  #at = 0;
  #first = 0;

  constructor({ items, key, text, isFound = () => false, query = "", selected }: PickListModelOptions<Item>) {
    this.#key = key;
    this.#text = text;
    this.#isFound = isFound;
    this.#items = items;
    this.#query = query;
    this.#match(selected);
  }

  get matches(): readonly Item[] {
    return this.#matches;
  }

  get query(): string {
    return this.#query;
  }

  /** How many there are without the query. */
  get total(): number {
    return this.#items.length;
  }

  get selected(): Item | undefined {
    return this.#matches[this.#at];
  }

  /** Place of the selected one among the matches, from 0. */
  get position(): number {
    return this.#at;
  }

  /** Other items; the selection stays where its item is still there. */
  setItems(items: readonly Item[]): void {
    const { selected } = this;
    this.#items = items;
    this.#match(selected === undefined ? undefined : this.#key(selected));
  }

  /** The best match is selected; with an empty query, the one that was. */
  setQuery(query: string): void {
    if (query === this.#query) return;
    const { selected } = this;
    this.#query = query;
    this.#match(query.trim() === "" && selected !== undefined ? this.#key(selected) : undefined);
  }

  /** Selects the item with this key, where it is among the matches. */
  select(key: string): void {
    const at = this.#matches.findIndex((item) => this.#key(item) === key);
    if (at >= 0) this.#at = at;
  }

  /** Moves the selection; one step beyond an end comes to the other, a longer one stays at the end. */
  move(by: number): void {
    const last = this.#matches.length - 1;
    if (last < 0) return;
    const to = this.#at + by;
    if (Math.abs(by) === 1) this.#at = (to + last + 1) % (last + 1);
    else this.#at = Math.max(0, Math.min(last, to));
  }

  /** The matches that fit `rows`, with the selected one among them, and how many stand before. */
  window(rows: number): { first: number; items: readonly Item[] } {
    const height = Math.max(1, rows);
    const latest = Math.max(0, this.#matches.length - height);
    if (this.#at < this.#first) this.#first = this.#at;
    if (this.#at >= this.#first + height) this.#first = this.#at - height + 1;
    this.#first = Math.min(this.#first, latest);
    return { first: this.#first, items: this.#matches.slice(this.#first, this.#first + height) };
  }

  #match(selected: string | undefined): void {
    this.#matches = this.#found();
    const at = selected === undefined ? -1 : this.#matches.findIndex((item) => this.#key(item) === selected);
    // The one that was selected is gone: its neighbour takes its place.
    const fallback = selected === undefined ? 0 : Math.min(this.#at, this.#matches.length - 1);
    this.#at = Math.max(0, at >= 0 ? at : fallback);
  }

  /** True where its text holds every word of the query. */
  holdsQuery(item: Item): boolean {
    const text = this.#text(item).toLowerCase();
    return this.#words().every((word) => text.includes(word));
  }

  #words(): string[] {
    return this.#query.toLowerCase().split(/\s+/).filter(Boolean);
  }

  #found(): readonly Item[] {
    if (this.#words().length === 0) return this.#items;
    const whole = this.#items.filter((item) => this.#isFound(item) || this.holdsQuery(item));
    return whole.length > 0 ? whole : fuzzyFilter([...this.#items], this.#query, this.#text);
  }
}
