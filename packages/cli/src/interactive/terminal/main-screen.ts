import type { Component, Terminal } from "@earendil-works/pi-tui";
import { fittedFrame } from "./fitted-lines.ts";
import { LibraryScreen, reflow } from "./library-screen.ts";
import { type Before, type ScreenChange, type Shown, screenPlan } from "./screen-plan.ts";

interface MainScreenOptions {
  /** The first children, if their lines stay readable in the scrollback. Default: none. */
  kept?: readonly Component[];
  /** The line above a chat that is printed again. Default: blank. */
  rule?: (width: number) => string;
  /** The terminal is one of xterm.js, like that of VS Code. Default false. */
  isXtermJs?: boolean | undefined;
}

/**
 * The library's renderer clears the scrollback for changes above the screen and after each resize. Here the scrollback
 * is never touched: the library only gets the lines of the screen and those that have to scroll off it.
 */
export class MainScreen extends LibraryScreen {
  readonly #kept: ReadonlySet<Component>;
  readonly #rule: (width: number) => string;
  readonly #isXtermJs: boolean;
  #shown: Shown = { frame: { lines: [], kept: 0 }, top: 0, scrolled: 0 };
  #isOther = false;

  constructor(terminal: Terminal, { kept = [], rule = () => "", isXtermJs = false }: MainScreenOptions = {}) {
    super(terminal);
    this.#kept = new Set(kept);
    this.#rule = rule;
    this.#isXtermJs = isXtermJs;
  }

  /** True while an overlay has the keys. */
  get isOverlaid(): boolean {
    return this.isOverlayFocused();
  }

  /** To be called if the chat is another or shows more: its new lines can be read by scrolling up. */
  showOther(): void {
    this.#isOther = true;
  }

  protected override doRender(): void {
    if (this.stopped) return;
    const { columns, rows } = this.terminal;
    const { before, lines, shown } = screenPlan({
      shown: this.#shown,
      frame: fittedFrame(this.children, this.#kept, columns),
      rows,
      onScreen: this.givenOnScreen,
      change: this.#nextChange(),
    });
    if (before.kind === "stays") this.drawOver(lines);
    else {
      this.#clear(before);
      this.drawAnew(lines);
    }
    this.#shown = shown;
  }

  #nextChange(): ScreenChange {
    const isOther = this.#isOther;
    this.#isOther = false;
    const { columns, rows } = this.terminal;
    const drawn = this.drawnSize;
    if (drawn.columns <= 0) return { kind: "begin" };
    if (drawn.columns === columns && drawn.rows === rows) return { kind: isOther ? "other" : "more" };
    const { pushed } = reflow(this.onScreen, this.terminal);
    return { kind: "size", pushed, hasOtherColumns: drawn.columns !== columns };
  }

  #clear(before: Exclude<Before, { kind: "stays" }>): void {
    const { columns, rows } = this.terminal;
    switch (before.kind) {
      case "foreign":
        // Another program may have left the cursor anywhere.
        if (this.drawnSize.columns < 0) this.terminal.write("\r\x1b[J");
        return;
      case "goes":
        this.terminal.write(`${up(this.#rowsAboveCursor())}${eraseBelow}`);
        return;
      case "scrollsOff": {
        const { known, left } = before;
        const rest = `${known > 0 ? `\x1b[${known}M` : ""}${left > 0 ? `\x1b[${left}B` : ""}`;
        const off = `${"\r\n".repeat(rows)}\x1b[H`;
        this.terminal.write(`${up(this.#rowsAboveCursor())}${rest}${eraseBelow}${this.#rule(columns)}${off}`);
      }
    }
  }

  /** Number of drawn rows above the cursor, as the terminal has laid them out for its size. */
  #rowsAboveCursor(): number {
    const { columns, rows } = this.drawnSize;
    if (columns === this.terminal.columns && rows === this.terminal.rows) return this.onScreen.cursorRow;
    const { rowsAbove, rowsMoreBelow } = reflow(this.onScreen, this.terminal);
    // xterm.js moves the cursor down for each line that takes another row, even below the cursor.
    return rowsAbove + (this.#isXtermJs ? rowsMoreBelow : 0);
  }
}

/** Row by row: terminals move a screen that is erased from its beginning into the scrollback. */
const eraseBelow = "\x1b[2K\x1b7\x1b[1B\x1b[J\x1b8";

/** Moves to the start of a line above, within a synchronised update. */
function up(rows: number): string {
  return `\x1b[?2026h\r${rows > 0 ? `\x1b[${rows}A` : ""}`;
}
