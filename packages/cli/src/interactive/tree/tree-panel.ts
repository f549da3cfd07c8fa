import { betweenKeys } from "../between-keys.ts";
import {
  FieldPanel,
  framed,
  type KeyHint,
  keyName,
  scrollStep,
  TextField,
  titleLines,
} from "../panels/panel-frame.ts";
import type { Screen } from "../terminal/screen.ts";
import { getKeybindings, type KeyId, matchesKey, truncateToWidth } from "../terminal/tui.ts";
import type { TreeModel } from "./tree-model.ts";
import { treeRow } from "./tree-row.ts";

export interface TreePanelOptions {
  screen: Screen;
  model: TreeModel;
  title: string;
  /** The word for Enter. */
  choice: string;
  now: () => number;
  /** Called with the position of the chosen entry; undefined if the user leaves. */
  done: (at: number | undefined) => void;
  onLabel: (at: number) => void;
  onDiff: (at: number) => void;
  onHide: (at: number) => void;
  /** Called before `done` if the user wants the menu of the entry. Default: entries have no menu. */
  onMenu?: (() => void) | undefined;
}

/** Maximum rows around the list: rules, title, search, hints and footer. */
const rowsAround = 9;
const leastRows = 3;
const entriesAtOnce = 4;
/** Time between two updates while reading: in a large tree an update takes longer than reading some entries. */
const siftMs = 100;

export class TreePanel extends FieldPanel<TextField> {
  readonly #options: TreePanelOptions;
  #stopReading: (() => void) | undefined;
  #isClosed = false;
  #siftAtMs = 0;
  #first: number | undefined;
  #page = leastRows;
  /** The list keeps its height when a search or a fold shortens it. */
  #height = 0;

  constructor(options: TreePanelOptions) {
    const { screen, model } = options;
    super(new TextField({ theme: screen.theme, value: model.search, placeholder: "type to search" }));
    this.#options = options;
    this.#readOn();
  }

  render(width: number): string[] {
    const rows = Math.max(leastRows, this.#options.screen.rows - rowsAround);
    const { theme } = this.#options.screen;
    const field = this.field.render(width).map((line) => truncateToWidth(line, width, ""));
    const list = this.#padded(this.#list(width, rows), rows);
    return framed(theme, width, [...this.#head(width), ...field, ...list], this.#hints());
  }

  handleInput(data: string): void {
    if (!this.#act(data)) {
      this.field.handleInput(data);
      this.#options.model.setSearch(this.field.getValue());
    }
    this.changed();
  }

  /** To be called after a change of the model. */
  changed(): void {
    this.#readOn();
    this.#options.screen.redraw();
  }

  close(): void {
    this.#isClosed = true;
    this.#stopReading?.();
  }

  /** Reads the remaining entries for the search. */
  #readOn(): void {
    if (!this.#isClosed && this.#options.model.searchProgress < 1)
      this.#stopReading ??= betweenKeys(this.#reading());
  }

  *#reading(): Generator<void> {
    const { model, screen } = this.#options;
    while (model.searchProgress < 1) {
      model.read(entriesAtOnce);
      const nowMs = performance.now();
      if (model.searchProgress === 1 || nowMs >= this.#siftAtMs) {
        this.#siftAtMs = nowMs + siftMs;
        model.sift();
        screen.redraw();
      }
      yield;
    }
    this.#stopReading = undefined;
  }

  /** @returns false for a key that belongs to the search */
  #act(data: string): boolean {
    const { model, done, onLabel, onDiff, onHide, onMenu } = this.#options;
    const keys = getKeybindings();
    const step = scrollStep(data, this.#page);
    const openMenu = (at: number) => {
      onMenu?.();
      done(at);
    };
    const own: readonly (readonly [KeyId, () => void])[] = [
      ["home", () => model.move(Number.NEGATIVE_INFINITY)],
      ["end", () => model.move(Number.POSITIVE_INFINITY)],
      ["left", () => model.foldOrUp()],
      ["right", () => model.unfoldOrDown()],
      ["tab", () => model.nextFilter()],
      ["ctrl+f", () => model.nextFilter()],
      ["shift+tab", () => model.nextFilter(-1)],
      ["ctrl+l", () => this.#withSelected(onLabel)],
      ["ctrl+d", () => this.#withSelected(onDiff)],
      ["ctrl+x", () => this.#withSelected(onHide)],
      ["ctrl+a", () => this.#withSelected(onMenu && openMenu)],
    ];
    if (step !== 0) model.move(step);
    else if (keys.matches(data, "tui.select.confirm")) this.#withSelected(done);
    else if (keys.matches(data, "tui.select.cancel")) this.#leave();
    else {
      const [, act] = own.find(([key]) => matchesKey(data, key)) ?? [];
      act?.();
      return act !== undefined;
    }
    return true;
  }

  #withSelected(act: ((at: number) => void) | undefined): void {
    const { selected } = this.#options.model;
    if (selected !== undefined) act?.(selected);
  }

  /** Clears the search first, then leaves. */
  #leave(): void {
    const { model, done } = this.#options;
    if (model.search === "") done(undefined);
    this.field.setValue("");
    model.setSearch("");
  }

  #head(width: number): string[] {
    const { model, screen, title } = this.#options;
    const { style } = screen.theme;
    const [name = ""] = titleLines(screen.theme, title, width);
    const row = model.rows.length === 0 ? 0 : model.selectedRow + 1;
    const reading = model.search !== "" && model.searchProgress < 1;
    const progress = reading ? ` · read ${Math.floor(model.searchProgress * 100)}%` : "";
    const place = `${model.filter} · ${row}/${model.rows.length}${progress}`;
    return [truncateToWidth(`${name}  ${style.muted(place)}`, width, "…")];
  }

  #list(width: number, height: number): string[] {
    const { model, screen, now } = this.#options;
    const { rows, selectedRow } = model;
    this.#page = Math.max(1, height - 1);
    if (rows.length === 0)
      return [truncateToWidth(screen.theme.style.muted(` ${emptyWords(model)}`), width, "…")];
    // Users look for earlier entries more than for later ones.
    this.#first ??= selectedRow - Math.floor((height * 2) / 3);
    const first = Math.min(this.#first, selectedRow, Math.max(0, rows.length - height));
    this.#first = Math.max(0, first, selectedRow - height + 1);
    const nowMs = now();
    return rows
      .slice(this.#first, this.#first + height)
      .map((at) => treeRow(at, { model, theme: screen.theme, width, nowMs }));
  }

  #padded(lines: string[], height: number): string[] {
    this.#height = Math.min(height, Math.max(this.#height, lines.length));
    return [...lines, ...new Array<string>(this.#height - lines.length).fill("")];
  }

  #hints(): KeyHint[] {
    const { choice, onMenu, model } = this.#options;
    const isHidden = model.selected !== undefined && model.hiddenIds.has(model.entryAt(model.selected).id);
    return [
      [keyName("tui.select.confirm"), choice],
      ["←→", "fold"],
      ["Tab", "filter"],
      ["Ctrl-L", "label"],
      ...(onMenu === undefined ? [] : [["Ctrl-A", "menu"] as const]),
      ["Ctrl-D", "diff"],
      ["Ctrl-X", isHidden ? "show to the model" : "hide"],
      [keyName("tui.select.cancel"), model.search === "" ? "leave" : "clear"],
    ];
  }
}

function emptyWords({ search, filter }: TreeModel): string {
  if (search !== "") return "No matches.";
  return filter === "labelled" ? "No entry has a label." : "This session has no entries yet.";
}
