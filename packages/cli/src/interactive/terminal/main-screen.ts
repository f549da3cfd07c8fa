import type { Component, Terminal } from "@earendil-works/pi-tui";
import { fittedFrame } from "./fitted-lines.ts";
import { LibraryScreen, reflow } from "./library-screen.ts";
import { type Before, type ScreenChange, type Shown, screenPlan } from "./screen-plan.ts";

interface MainScreenOptions {
  /** Children whose lines can be scrolled back to. They come first. Default: none. */
  kept?: readonly Component[];
  /** Stands above what is printed anew. Default: nothing is seen. */
  rule?: (width: number) => string;
  /** The terminal is one of xterm.js, like that of VS Code. Default false. */
  isXtermJs?: boolean | undefined;
}

/**
 * The library's renderer clears the terminal's scrollback, and prints all anew, when something changes above the screen
 * and with each size of the terminal. Here the scrollback is never touched: the library is given the lines alone that
 * belong on the screen, and above them those that have to scroll off it. `screenPlan` knows which.
 */
export class MainScreen extends LibraryScreen {
  readonly #kept: ReadonlySet<Component>;
  readonly #rule: (width: number) => string;
  readonly #isXtermJs: boolean;
  #shown: Shown = { frame: { lines: [], kept: 0 }, top: 0, scrolled: 0 };
  #asked: "unfolded" | "other" | undefined;

  constructor(terminal: Terminal, { kept = [], rule = () => "", isXtermJs = false }: MainScreenOptions = {}) {
    super(terminal);
    this.#kept = new Set(kept);
    this.#rule = rule;
    this.#isXtermJs = isXtermJs;
  }

  /** True while something that stands over the screen has the keys. */
  get isOverlaid(): boolean {
    return this.isOverlayFocused();
  }

  /** To be called when lines above the screen have unfolded: they can be read by scrolling up. */
  showUnfolded(): void {
    this.#asked ??= "unfolded";
  }

  /** To be called when something else is shown: what was on the screen, and what is new, can be read by scrolling up. */
  showOther(): void {
    this.#asked = "other";
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
    const asked = this.#asked;
    this.#asked = undefined;
    const { columns, rows } = this.terminal;
    const drawn = this.drawnSize;
    if (drawn.columns <= 0) return { kind: "begin" };
    if (drawn.columns === columns && drawn.rows === rows) return { kind: asked ?? "more" };
    const { pushed } = reflow(this.onScreen, this.terminal);
    return { kind: "size", pushed, hasOtherColumns: drawn.columns !== columns };
  }

  #clear(before: Exclude<Before, { kind: "stays" }>): void {
    const { columns, rows } = this.terminal;
    const rule = this.#rule(columns);
    switch (before.kind) {
      case "foreign":
        // Whoever had the terminal may have left the cursor anywhere.
        if (this.drawnSize.columns < 0) this.terminal.write("\r\x1b[J");
        return;
      case "goes":
        this.terminal.write(`${up(this.#rowsAboveCursor())}${eraseBelow}`);
        return;
      case "goesForRule":
        this.terminal.write(`${up(this.#rowsAboveCursor())}${eraseBelow}${rule}\r\n`);
        return;
      case "scrollsOff": {
        const { known, left } = before;
        const rest = `${known > 0 ? `\x1b[${known}M` : ""}${left > 0 ? `\x1b[${left}B` : ""}`;
        const off = `${"\r\n".repeat(rows)}\x1b[H`;
        this.terminal.write(`${up(this.#rowsAboveCursor())}${rest}${eraseBelow}${rule}${off}`);
      }
    }
  }

  /** So many rows of what was drawn stand above the cursor, as the terminal has laid them out for its size. */
  #rowsAboveCursor(): number {
    const { columns, rows } = this.drawnSize;
    if (columns === this.terminal.columns && rows === this.terminal.rows) return this.onScreen.cursorRow;
    const { rowsAbove, rowsMoreBelow } = reflow(this.onScreen, this.terminal);
    // There the cursor has moved down for each line that takes another row, also for those below it.
    return rowsAbove + (this.#isXtermJs ? rowsMoreBelow : 0);
  }
}

/**
 * Row for row, since terminals move a screen that is erased from its beginning into the scrollback. What follows it is
 * drawn before the terminal shows anything.
 */
const eraseBelow = "\x1b[2K\x1b7\x1b[1B\x1b[J\x1b8";

/** To the beginning of the line so many rows above; what follows is shown at once. */
function up(rows: number): string {
  return `\x1b[?2026h\r${rows > 0 ? `\x1b[${rows}A` : ""}`;
}
