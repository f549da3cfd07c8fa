import { count } from "../../views/numbers.ts";
import { oneLine } from "../../views/terminal-text.ts";
import { shownKey } from "../terminal/keys.ts";
import { getKeybindings, type KeyId, matchesKey, truncateToWidth, visibleWidth } from "../terminal/tui.ts";
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
import { PickListModel, type PickListModelOptions } from "./pick-list-model.ts";

/** What a row shows: texts of whatever origin. */
export interface PickRow {
  label: string;
  /** At the right end; left out where the line is too narrow for both. */
  detail?: string | undefined;
  /** One that stands out, like the one in use. */
  mark?: string | undefined;
  isDim?: boolean | undefined;
}

/** A key that does something with the selected item, or with the list. */
export interface PickAction<Item> {
  key: KeyId;
  /** For the line of keys; an empty text leaves it out there. */
  does: string;
  run(item: Item | undefined): void;
}

export interface PickListOptions<Item> extends PickListModelOptions<Item> {
  place: PanelPlace;
  title: string;
  row: (item: Item) => PickRow;
  /** Enter, on an item. */
  onPick: (item: Item) => void;
  onCancel: () => void;
  actions?: readonly PickAction<Item>[];
  /** What Enter does, in a word. Default "choose". */
  picks?: string;
  /** Stands where the list has nothing. Default "The list is empty." */
  empty?: string;
  /** Stands where nothing is as the query wants it. Default "No matches." */
  noMatch?: string;
  /** Lines about the selected item, each within the width; left out on a low screen. */
  preview?: (item: Item, width: number) => readonly string[];
  onQuery?: (query: string) => void;
  /** Called with what is selected from now on; undefined where nothing matches. */
  onSelect?: (item: Item | undefined) => void;
  /**
   * It comes by itself, perhaps while the user types: the Enter behind what was typed may end a prompt, and chooses nothing.
   * Default: the user has asked for it.
   */
  comesByItself?: boolean;
}

const mostRows = 12;
const leastRows = 3;
/** The two rules, the search line and the line of the position; and the footer's two below. */
const otherRows = 6;
const mostPreviewRows = 8;
const leastRowsForPreview = 16;
/** Beyond, the eye loses which end belongs to which beginning. */
const mostRowColumns = 120;

/** A shorter list is seen at once: nothing is searched for in it. */
const leastSearched = 8;

/** A list to choose from: typing searches in it, unless it is short. Takes as many lines as a third of the screen has, and no more. */
export class PickList<Item> extends FieldPanel<TextField> {
  readonly model: PickListModel<Item>;
  readonly #options: PickListOptions<Item>;
  #title: string;
  #empty: string;
  #status: string | undefined;
  #isTyping = false;

  constructor(options: PickListOptions<Item>) {
    const { place, query: value = "" } = options;
    super(new TextField({ theme: place.theme, value, placeholder: "type to search" }));
    this.#options = options;
    this.model = new PickListModel(options);
    this.#title = options.title;
    this.#empty = options.empty ?? "The list is empty.";
  }

  /** Changes the texts around the list. @param status a line below the list; undefined takes it away */
  update({ title, empty, status }: { title?: string; empty?: string; status?: string | undefined }): void {
    this.#title = title ?? this.#title;
    this.#empty = empty ?? this.#empty;
    this.#status = status;
    this.#options.place.redraw();
  }

  setItems(items: readonly Item[]): void {
    this.model.setItems(items);
    this.#options.place.redraw();
  }

  handleInput(data: string): void {
    const { actions = [], onCancel, onSelect, place } = this.#options;
    const before = this.model.selected;
    const keys = getKeybindings();
    const action = actions.find(({ key }) => matchesKey(data, key));
    if (action !== undefined) action.run(this.model.selected);
    else if (keys.matches(data, "tui.select.cancel")) onCancel();
    else if (keys.matches(data, "tui.select.confirm")) this.#confirmed();
    else if (this.#moved(data)) this.#isTyping = false;
    else this.#typed(data);
    if (this.model.selected !== before) onSelect?.(this.model.selected);
    place.redraw();
  }

  #confirmed(): void {
    const { selected } = this.model;
    if (selected !== undefined && !this.#isTyping) this.#options.onPick(selected);
    this.#isTyping = false;
  }

  render(width: number): string[] {
    const { theme, rows } = this.#options.place;
    const status = this.#status === undefined ? [] : textLines(this.#status, width).map(theme.style.muted);
    const hints = hintLines(theme, this.#hints(), width);
    const open = rows - status.length - hints.length - otherRows;
    const title = titleLines(theme, this.#title, width).slice(0, Math.max(1, open - leastRows));
    const free = open - title.length;
    const about = this.#preview(width, free - leastRows);
    // Where it fits, one line of the chat is seen above.
    const height = Math.max(leastRows, Math.min(mostRows, free - about.length - 1));
    return [
      rule(theme, width),
      ...title,
      ...(this.#isSearched ? this.field.render(width) : []),
      ...this.#listLines(height, width),
      ...status,
      ...about,
      ...hints,
      rule(theme, width),
    ];
  }

  /** Where whoever made the list looks further for what is typed, the list is not all that there is. */
  get #isSearched(): boolean {
    const { total, query } = this.model;
    return total >= leastSearched || query !== "" || this.#options.onQuery !== undefined;
  }

  #moved(data: string): boolean {
    const page = Math.max(2, Math.min(mostRows, this.#options.place.rows - 9) - 1);
    const step = scrollStep(data, page);
    this.model.move(step);
    return step !== 0;
  }

  #typed(data: string): void {
    this.#isTyping = this.#options.comesByItself === true;
    // What may be meant for the editor is shown, and not lost.
    if (!this.#isSearched && !this.#isTyping) return;
    this.field.handleInput(data);
    const query = this.field.getValue();
    if (query === this.model.query) return;
    this.model.setQuery(query);
    this.#options.onQuery?.(query);
  }

  #listLines(height: number, width: number): string[] {
    const { theme } = this.#options.place;
    const { matches, total, position } = this.model;
    if (matches.length === 0) {
      const words = total === 0 ? this.#empty : (this.#options.noMatch ?? "No matches.");
      return textLines(words, width).map(theme.style.muted);
    }
    const { first, items } = this.model.window(height);
    const lines = items.map((item, at) =>
      this.#rowLine(item, first + at === position, Math.min(width, mostRowColumns)),
    );
    const of = matches.length === total ? "" : ` of ${count(total)}`;
    const where = ` ${count(position + 1)}/${count(matches.length)}${of}`;
    return [...lines, theme.style.dim(truncateToWidth(where, width))];
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

  /** @param mostLines with its rules */
  #preview(width: number, mostLines: number): string[] {
    const { place, preview } = this.#options;
    const { theme, rows } = place;
    const { selected } = this.model;
    if (preview === undefined || selected === undefined || rows < leastRowsForPreview) return [];
    // A list of three rows could not be looked through.
    const wanted = Math.min(mostPreviewRows, Math.floor(rows / 3), Math.max(2, rows - 16));
    const most = Math.min(wanted, mostLines - 2);
    if (most < 1) return [];
    const lines = preview(selected, width);
    const shown = lines.slice(0, most);
    if (lines.length > most) shown.push(truncateToWidth(`${shown.pop() ?? ""} …`, width, "…"));
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
