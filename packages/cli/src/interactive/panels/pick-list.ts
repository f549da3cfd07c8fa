import { errorLine } from "../../views/error-text.ts";
import { count } from "../../views/numbers.ts";
import { oneLine } from "../../views/terminal-text.ts";
import { shownKey } from "../terminal/keys.ts";
import type { Screen } from "../terminal/screen.ts";
import {
  fuzzyFilter,
  getKeybindings,
  type KeyId,
  matchesKey,
  truncateToWidth,
  visibleWidth,
} from "../terminal/tui.ts";
import {
  FieldPanel,
  hintLines,
  type KeyHint,
  keyName,
  type PanelPlace,
  rule,
  scrollStep,
  TextField,
  textLines,
  titleLines,
} from "./panel-frame.ts";

/** The texts of a row, from any source. */
export interface PickRow {
  label: string;
  /** At the right end; left out if the line is too narrow. */
  detail?: string | undefined;
  /** Stands out, such as a mark of the item in use. */
  mark?: string | undefined;
  isDim?: boolean | undefined;
}

/** The status line for the list, if there is one. An error becomes the status too. */
type Acted = string | undefined | void | Promise<string | undefined | void>;

/** A key that acts on the selected item or on the list. */
export interface PickAction<Item> {
  key: KeyId;
  /** For the line of keys; an empty text leaves it out there. */
  does: string;
  /** Keys are ignored until a promise settles. */
  run(item: Item | undefined): Acted;
}

export interface PickListOptions<Item> {
  place: PanelPlace;
  title: string;
  items: readonly Item[];
  row: (item: Item) => PickRow;
  /** The text that the query is compared with. Default: the row's label. */
  text?: (item: Item) => string;
  /** Identifies an item. The selection stays on it when the list changes. Default: its text. */
  key?: (item: Item) => string;
  /** True for an item that matches whatever its text. Default: no item. */
  isFound?: (item: Item) => boolean;
  query?: string | undefined;
  /** Key of the item that is selected at first. Default: the first item. */
  selected?: string | undefined;
  onPick: (item: Item) => Acted;
  onCancel: () => void;
  actions?: readonly PickAction<Item>[];
  /** The word for Enter. Default "choose". */
  picks?: string;
  /** Shown if there are no items. Default "The list is empty." */
  empty?: string;
  /** Shown if no item matches. Default "No matches." */
  noMatch?: string;
  /** Lines about the selected item, each within the width; left out on a low screen. */
  preview?: (item: Item, width: number) => readonly string[];
  /** Searches elsewhere, after each pause in typing. */
  search?: (query: string, signal: AbortSignal) => Promise<void>;
  /** Called with each newly selected item; undefined if nothing matches. */
  onSelect?: (item: Item | undefined) => void;
  /**
   * The list opens by itself, perhaps while the user types: an Enter after typed text may end a prompt and chooses
   * nothing. Default: the user opened it.
   */
  comesByItself?: boolean;
}

const MAX_ROWS = 12;
const MIN_ROWS = 3;
/** The two rules, the search line and the position; and the footer's two lines below. */
const OTHER_ROWS = 6;
const MAX_PREVIEW_ROWS = 8;
const MIN_ROWS_FOR_PREVIEW = 16;
/** In wider rows the eye loses which end belongs to which beginning. */
const MAX_ROW_COLUMNS = 120;
/** Shorter lists have no search. */
const MIN_SEARCHED = 8;
/** A key within this time changes the search. */
const TYPING_MS = 120;

export async function showList<Item, Value>(
  screen: Screen,
  make: (done: (value: Value | undefined) => void) => PickList<Item>,
): Promise<Value | undefined> {
  let list: PickList<Item> | undefined;
  try {
    return await screen.show<Value>((done) => {
      list = make(done);
      return list;
    });
  } finally {
    list?.close();
  }
}

/**
 * A list to choose from. Typing filters it, unless it is short: items with every word of the query stay in their order; if
 * there are none, items with the query's letters follow, the best first. Takes at most a third of the screen.
 */
export class PickList<Item> extends FieldPanel<TextField> {
  readonly #options: PickListOptions<Item>;
  readonly #key: (item: Item) => string;
  readonly #text: (item: Item) => string;
  #title: string;
  #empty: string;
  #status: string | undefined;
  #isTyping = false;
  #isActing = false;
  #items: readonly Item[];
  #query: string;
  #matches: readonly Item[] = [];
  #at = 0;
  #first = 0;
  #searching = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PickListOptions<Item>) {
    const { place, query = "", row, text = (item) => row(item).label, key = text } = options;
    super(new TextField({ theme: place.theme, value: query, placeholder: "type to search" }));
    this.#options = options;
    this.#text = text;
    this.#key = key;
    this.#title = options.title;
    this.#empty = options.empty ?? "The list is empty.";
    this.#items = options.items;
    this.#query = query;
    this.#match(options.selected);
    if (query !== "") this.searchAgain();
  }

  get query(): string {
    return this.#query;
  }

  get matches(): readonly Item[] {
    return this.#matches;
  }

  get selected(): Item | undefined {
    return this.#matches[this.#at];
  }

  /** Changes the texts around the list. @param status a line below the list; undefined removes it */
  update({ title, empty, status }: { title?: string; empty?: string; status?: string | undefined }): void {
    this.#title = title ?? this.#title;
    this.#empty = empty ?? this.#empty;
    this.#status = status;
    this.#options.place.redraw();
  }

  /** Replaces the items. The selection stays on its item, or on a neighbour if the item is gone. */
  setItems(items: readonly Item[]): void {
    this.#items = items;
    this.#match(this.selected && this.#key(this.selected));
    this.#options.place.redraw();
  }

  /** Selects the best match; without a query, the selection stays. */
  setQuery(query: string): void {
    if (query === this.#query) return;
    this.#query = query;
    this.#match(query.trim() === "" && this.selected !== undefined ? this.#key(this.selected) : undefined);
    this.searchAgain(TYPING_MS);
  }

  select(key: string): void {
    const at = this.#matches.findIndex((item) => this.#key(item) === key);
    if (at >= 0) this.#at = at;
  }

  /** Moves the selection. One step past an end goes to the other end; a page stops at the end. */
  move(by: number): void {
    const { length } = this.#matches;
    if (length === 0) return;
    const to = this.#at + by;
    this.#at = Math.abs(by) === 1 ? (to + length) % length : Math.max(0, Math.min(length - 1, to));
  }

  /** The matches that fit `rows`, around the selected one, and the number of matches before them. */
  window(rows: number): { first: number; items: readonly Item[] } {
    const latest = Math.max(0, this.#matches.length - rows);
    const first = Math.max(Math.min(this.#first, this.#at), this.#at - rows + 1);
    this.#first = Math.min(first, latest);
    return { first: this.#first, items: this.#matches.slice(this.#first, this.#first + rows) };
  }

  hasQuery(item: Item): boolean {
    const text = this.#text(item).toLowerCase();
    return this.#words().every((word) => text.includes(word));
  }

  /** Starts the search elsewhere again and cancels the one before. */
  searchAgain(afterMs = 0): void {
    const { search } = this.#options;
    this.close();
    if (search === undefined) return;
    this.#searching = new AbortController();
    const { signal } = this.#searching;
    this.#timer = setTimeout(() => {
      search(this.#query, signal).catch((error: unknown) => {
        if (!signal.aborted) this.update({ status: errorLine(error) });
      });
    }, afterMs);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#searching.abort();
  }

  handleInput(data: string): void {
    const { actions = [], onCancel, onSelect, place } = this.#options;
    const before = this.selected;
    const keys = getKeybindings();
    const action = actions.find(({ key }) => matchesKey(data, key));
    if (action !== undefined) void this.#act(() => action.run(this.selected));
    else if (keys.matches(data, "tui.select.cancel")) onCancel();
    else if (keys.matches(data, "tui.select.confirm")) this.#confirm();
    else if (this.#scroll(data)) this.#isTyping = false;
    else this.#type(data);
    if (this.selected !== before) onSelect?.(this.selected);
    place.redraw();
  }

  async #act(act: () => Acted): Promise<void> {
    if (this.#isActing) return;
    this.#isActing = true;
    try {
      const acted = act();
      const status = acted instanceof Promise ? await acted : acted;
      if (status !== undefined) this.update({ status });
    } catch (error) {
      this.update({ status: errorLine(error) });
    } finally {
      this.#isActing = false;
    }
  }

  #confirm(): void {
    const { selected } = this;
    if (selected !== undefined && !this.#isTyping) void this.#act(() => this.#options.onPick(selected));
    this.#isTyping = false;
  }

  #scroll(data: string): boolean {
    const page = Math.max(2, Math.min(MAX_ROWS, this.#options.place.rows - 9) - 1);
    const step = scrollStep(data, page);
    this.move(step);
    return step !== 0;
  }

  #type(data: string): void {
    this.#isTyping = this.#options.comesByItself === true;
    // Text that may be meant for the editor is shown, so that it is not lost.
    if (!this.#isSearched && !this.#isTyping) return;
    this.field.handleInput(data);
    this.setQuery(this.field.getValue());
  }

  get #isSearched(): boolean {
    return this.#items.length >= MIN_SEARCHED || this.#query !== "" || this.#options.search !== undefined;
  }

  #match(selected: string | undefined): void {
    this.#matches = this.#findMatches();
    const at = selected === undefined ? -1 : this.#matches.findIndex((item) => this.#key(item) === selected);
    const neighbour = selected === undefined ? 0 : Math.min(this.#at, this.#matches.length - 1);
    this.#at = Math.max(0, at >= 0 ? at : neighbour);
  }

  #findMatches(): readonly Item[] {
    const { isFound = () => false } = this.#options;
    if (this.#words().length === 0) return this.#items;
    const whole = this.#items.filter((item) => isFound(item) || this.hasQuery(item));
    return whole.length > 0 ? whole : fuzzyFilter([...this.#items], this.#query, this.#text);
  }

  #words(): string[] {
    return this.#query.toLowerCase().split(/\s+/).filter(Boolean);
  }

  render(width: number): string[] {
    const { theme, rows } = this.#options.place;
    const status = this.#status === undefined ? [] : textLines(this.#status, width).map(theme.style.muted);
    const hints = hintLines(theme, this.#hints(), width);
    const open = rows - status.length - hints.length - OTHER_ROWS;
    const title = titleLines(theme, this.#title, width).slice(0, Math.max(1, open - MIN_ROWS));
    const free = open - title.length;
    const preview = this.#preview(width, free - MIN_ROWS);
    // Leaves one line of the chat if it fits.
    const height = Math.max(MIN_ROWS, Math.min(MAX_ROWS, free - preview.length - 1));
    return [
      rule(theme, width),
      ...title,
      ...(this.#isSearched ? this.field.render(width) : []),
      ...this.#listLines(height, width),
      ...status,
      ...preview,
      ...hints,
      rule(theme, width),
    ];
  }

  #listLines(height: number, width: number): string[] {
    const { theme } = this.#options.place;
    const [{ length: shown }, { length: total }] = [this.#matches, this.#items];
    if (shown === 0) {
      const words = total === 0 ? this.#empty : (this.#options.noMatch ?? "No matches.");
      return textLines(words, width).map(theme.style.muted);
    }
    const { first, items } = this.window(height);
    const columns = Math.min(width, MAX_ROW_COLUMNS);
    const of = shown === total ? "" : ` of ${count(total)}`;
    const position = ` ${count(this.#at + 1)}/${count(shown)}${of}`;
    return [
      ...items.map((item, at) => this.#rowLine(item, first + at === this.#at, columns)),
      theme.style.dim(truncateToWidth(position, width)),
    ];
  }

  #rowLine(item: Item, isSelected: boolean, width: number): string {
    const { style } = this.#options.place.theme;
    const { label, detail = "", mark = "", isDim = false } = this.#options.row(item);
    const head = isSelected ? " › " : "   ";
    const sign = mark === "" ? "" : ` ${oneLine(mark)}`;
    const end = oneLine(detail);
    const columns = width - visibleWidth(head) - visibleWidth(sign) - 1;
    const endWidth = visibleWidth(end);
    const hasEnd = end !== "" && columns - endWidth - 2 >= Math.min(18, visibleWidth(oneLine(label)));
    const labelColumns = Math.max(1, hasEnd ? columns - endWidth - 2 : columns);
    const text = truncateToWidth(oneLine(label), labelColumns, "…");
    const gap = hasEnd ? " ".repeat(Math.max(1, columns - visibleWidth(text) - endWidth)) : "";
    const look = isSelected ? style.accent : isDim ? style.dim : (plain: string) => plain;
    const line = `${look(head + text)}${style.success(sign)}${gap}${hasEnd ? style.muted(end) : ""}`;
    return truncateToWidth(line, width);
  }

  /** @param maxLines includes the two rules */
  #preview(width: number, maxLines: number): string[] {
    const { place, preview } = this.#options;
    const { theme, rows } = place;
    if (preview === undefined || this.selected === undefined || rows < MIN_ROWS_FOR_PREVIEW) return [];
    const wanted = Math.min(MAX_PREVIEW_ROWS, Math.floor(rows / 3), Math.max(2, rows - 16));
    const max = Math.min(wanted, maxLines - 2);
    if (max < 1) return [];
    const lines = preview(this.selected, width);
    const shown = lines.slice(0, max);
    if (lines.length > max) shown.push(truncateToWidth(`${shown.pop() ?? ""} …`, width, "…"));
    return [rule(theme, width), ...shown, rule(theme, width)];
  }

  #hints(): KeyHint[] {
    const { actions = [], picks = "choose" } = this.#options;
    const confirm = keyName("tui.select.confirm");
    return [
      [this.#isTyping ? `${confirm} ${confirm}` : confirm, picks],
      ...actions.filter(({ does }) => does !== "").map(({ key, does }): KeyHint => [shownKey(key), does]),
      [keyName("tui.select.cancel"), "leave"],
    ];
  }
}
