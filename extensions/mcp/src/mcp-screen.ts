import type { Component, Theme } from "@bonsai-agent/extension";
import { columnsOf, fitted, wrapped } from "./drawn-columns.ts";
import {
  type Page,
  type PageContent,
  type PageLine,
  type PageParts,
  pageContent,
  type ServerAction,
} from "./screen-pages.ts";

export interface McpScreenOptions {
  parts: PageParts;
  tui: { requestRender(): void; readonly terminal: { readonly columns: number; readonly rows: number } };
  theme: Theme;
  keybindings: { matches(data: string, action: string): boolean };
  /** With what is to be done outside of the screen; undefined: the user has left it. */
  done: (chosen: { action: ServerAction; server: string } | undefined) => void;
  /** Where it begins. */
  page: Page;
}

interface Opened {
  page: Page;
  /** The item that is selected, or the first line that is shown. */
  at: number;
}

/** What of the terminal's rows is not the screen's own: frame, title, keys, and what stands below it. */
const otherRows = 9;

/** `/mcp`: servers, what each has, and what can be done with it. Drawn anew whenever a server changes. */
export class McpScreen implements Component {
  readonly #options: McpScreenOptions;
  readonly #stop: () => void;
  /** The last is shown; leaving it leads to the one before. */
  readonly #opened: Opened[];

  constructor(options: McpScreenOptions) {
    this.#options = options;
    const { page, parts, tui } = options;
    const first: Opened = { page: { of: "servers" }, at: 0 };
    this.#opened = page.of === "servers" ? [first] : [first, { page, at: 0 }];
    this.#stop = parts.servers.on(() => tui.requestRender());
  }

  dispose(): void {
    this.#stop();
  }

  handleInput(data: string): void {
    const { keybindings } = this.#options;
    const is = (action: string) => keybindings.matches(data, action);
    const page = this.#rows;
    if (is("tui.select.cancel")) this.#leave();
    else if (is("tui.select.confirm")) this.#enter();
    else if (is("tui.select.up")) this.#move(-1);
    else if (is("tui.select.down")) this.#move(1);
    else if (is("tui.select.pageUp")) this.#move(-page);
    else if (is("tui.select.pageDown")) this.#move(page);
  }

  render(width: number): string[] {
    const { theme } = this.#options;
    const content = this.#content;
    const text = content.text.flatMap(({ text, color }) =>
      wrapped(text, width - 2).map((line) => ` ${color === undefined ? line : theme.fg(color, line)}`),
    );
    const rule = theme.fg("border", "─".repeat(width));
    const hasItems = content.items.length > 0;
    return [
      rule,
      ` ${theme.bold(fitted(content.title, width - 2))}`,
      ...(hasItems ? this.#withItems(content, text, width) : this.#scrolled(text)),
      theme.fg(
        "dim",
        fitted(hasItems ? " ↑/↓ choose · Enter open · Esc back" : " ↑/↓ scroll · Esc back", width),
      ),
      rule,
    ];
  }

  get #top(): Opened {
    return this.#opened.at(-1)!;
  }

  get #content(): PageContent {
    return pageContent(this.#options.parts, this.#top.page);
  }

  /** Rows for texts and items. */
  get #rows(): number {
    return Math.max(4, this.#options.tui.terminal.rows - otherRows);
  }

  #scrolled(text: readonly string[]): string[] {
    const rows = this.#rows;
    const top = this.#top;
    top.at = Math.max(0, Math.min(top.at, text.length - rows));
    const left = text.length - top.at - rows;
    const { theme } = this.#options;
    return [
      ...text.slice(top.at, top.at + rows),
      ...(text.length > rows ? [theme.fg("dim", left > 0 ? ` … ${left} more lines` : " end")] : []),
    ];
  }

  #withItems({ items }: PageContent, text: readonly string[], width: number): string[] {
    const top = this.#top;
    top.at = Math.max(0, Math.min(top.at, items.length - 1));
    // The items are what the page is for: a long text gives them at least half of it.
    const shownText = text.slice(
      0,
      Math.max(1, this.#rows - Math.min(items.length, Math.ceil(this.#rows / 2))),
    );
    const rows = Math.max(1, this.#rows - shownText.length);
    const first = Math.max(0, Math.min(top.at - Math.floor(rows / 2), items.length - rows));
    const lines = items
      .slice(first, first + rows)
      .map((item, index) => this.#line(item, first + index === top.at, width));
    const { theme } = this.#options;
    const count = items.length > rows ? [theme.fg("dim", ` ${top.at + 1} of ${items.length}`)] : [];
    return [...shownText, ...lines, ...count];
  }

  #line({ columns }: PageLine, isSelected: boolean, width: number): string {
    const { theme } = this.#options;
    let used = 2;
    const drawn: string[] = [];
    for (const [at, { text, color, width: wanted = 0 }] of columns.entries()) {
      const left = width - used - 1;
      // A column of which hardly anything would be seen is left out, and those behind it.
      if (at > 0 && left < Math.min(8, Math.max(wanted, columnsOf(text)))) break;
      const shown = fitted(text, wanted > 0 ? Math.min(wanted, left) : left);
      const isLast = at === columns.length - 1;
      const padded = isLast
        ? shown
        : shown + " ".repeat(Math.max(0, Math.min(wanted, left) - columnsOf(shown)));
      used += columnsOf(padded) + 2;
      drawn.push(isSelected || color === undefined ? padded : theme.fg(color, padded));
    }
    const line = drawn.join("  ");
    if (!isSelected) return `  ${line}`;
    const mark = `› ${line}`;
    return theme.bg("selectedBg", mark + " ".repeat(Math.max(0, width - columnsOf(mark))));
  }

  #move(step: number): void {
    this.#top.at = Math.max(0, this.#top.at + step);
  }

  #enter(): void {
    const item = this.#content.items[this.#top.at];
    if (item === undefined) return;
    if ("page" in item.leads) this.#opened.push({ page: item.leads.page, at: 0 });
    else this.#options.done(item.leads);
  }

  #leave(): void {
    this.#opened.pop();
    if (this.#opened.length === 0) this.#options.done(undefined);
  }
}
