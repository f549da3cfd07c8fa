import {
  type Component,
  deleteKittyImage,
  type Terminal,
  TuiMainScreen,
  type TuiStopOptions,
} from "@earendil-works/pi-tui";
import { fittedFrame, fittedLine, withoutPadding } from "./fitted-lines.ts";
import { drawsImage } from "./inline-image.ts";
import {
  type Before,
  type OnScreen,
  reflow,
  type ScreenChange,
  type Shown,
  screenPlan,
} from "./screen-plan.ts";

interface MainScreenOptions {
  /** The first children, if their lines stay readable in the scrollback. Default: none. */
  kept?: readonly Component[];
  /** The line above a chat that is printed again. Default: blank. */
  rule?: (width: number) => string;
  /** The terminal is one of xterm.js, like that of VS Code. Default false. */
  isXtermJs?: boolean | undefined;
}

/**
 * Draws frames, and never touches the scrollback. The library's renderer would clear it for changes above the screen and
 * after each resize.
 */
export class MainScreen extends TuiMainScreen {
  readonly #kept: ReadonlySet<Component>;
  readonly #rule: (width: number) => string;
  readonly #isXtermJs: boolean;
  #shown: Shown = { frame: { lines: [], kept: 0 }, top: 0, scrolled: 0 };
  #isOther = false;
  /** The size of the last frame: 0 columns before the first one, -1 after another program had the terminal. */
  #drawnSize = { columns: 0, rows: 0 };
  /** The lines on the screen before and after they were fitted. */
  #given: readonly string[] = [];
  #onScreen: OnScreen = { lines: [], cursorRow: 0, cursorColumn: 0 };

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

  protected override resetRenderState(): void {
    this.#drawnSize = { columns: -1, rows: -1 };
    this.#forgetScreen();
  }

  #forgetScreen(): void {
    this.#given = [];
    this.#onScreen = { lines: [], cursorRow: 0, cursorColumn: 0 };
  }

  /** Leaves the cursor below the last line. */
  protected override beforeTerminalStop({ preserveScreen }: TuiStopOptions): void {
    const { lines, cursorRow } = this.#onScreen;
    if (preserveScreen !== true && lines.length > 0)
      this.terminal.write(` ${vertical(lines.length - 1 - cursorRow)}\r\n`);
  }

  protected override doRender(): void {
    if (this.stopped) return;
    const { columns, rows } = this.terminal;
    const frame = fittedFrame(this.children, this.#kept, columns);
    const { before, lines, shown } = screenPlan({
      shown: this.#shown,
      frame,
      rows,
      change: this.#nextChange(),
    });
    const given = this.compositeOverlays([...lines], columns, rows);
    const cursor = this.extractCursorPosition(given, rows);
    this.#draw(given, cursor, this.#clear(before));
    this.#given = given.slice(-rows);
    this.#drawnSize = { columns, rows };
    this.#shown = shown;
  }

  #nextChange(): ScreenChange {
    const isOther = this.#isOther;
    this.#isOther = false;
    const { columns, rows } = this.terminal;
    const drawn = this.#drawnSize;
    if (drawn.columns <= 0) return { kind: "begin" };
    if (drawn.columns === columns && drawn.rows === rows) return { kind: isOther ? "other" : "more" };
    const { pushed } = reflow(this.#onScreen, this.terminal);
    return { kind: "size", pushed, hasOtherColumns: drawn.columns !== columns };
  }

  /** Forgets the screen, unless it stays. @returns the output that clears it */
  #clear(before: Before): string {
    if (before.kind === "stays") return "";
    const output = this.#onScreen.lines.map(deletedImage).join("") + this.#clearLines(before);
    this.#forgetScreen();
    return output;
  }

  #clearLines(before: Exclude<Before, { kind: "stays" }>): string {
    const { columns, rows } = this.terminal;
    switch (before.kind) {
      case "foreign":
        // Another program may have left the cursor anywhere.
        return this.#drawnSize.columns < 0 ? "\r\x1b[J" : "";
      case "goes":
        return `\r${vertical(-this.#rowsAboveCursor())}${ERASE_BELOW}`;
      case "scrollsOff": {
        const { known, left } = before;
        const rest = `${known > 0 ? `\x1b[${known}M` : ""}${vertical(left)}`;
        const off = `${"\r\n".repeat(rows)}\x1b[H`;
        return `\r${vertical(-this.#rowsAboveCursor())}${rest}${ERASE_BELOW}${this.#rule(columns)}${off}`;
      }
    }
  }

  /** Number of drawn rows above the cursor, as the terminal has laid them out for its size. */
  #rowsAboveCursor(): number {
    const { columns, rows } = this.#drawnSize;
    if (columns === this.terminal.columns && rows === this.terminal.rows) return this.#onScreen.cursorRow;
    const { rowsAbove, rowsMoreBelow } = reflow(this.#onScreen, this.terminal);
    // xterm.js moves the cursor down for each line that takes another row, even below the cursor.
    return rowsAbove + (this.#isXtermJs ? rowsMoreBelow : 0);
  }

  #fitted(line: string): string {
    if (drawsImage(line)) return line;
    return this.applyLineResets([fittedLine(withoutPadding(line), this.terminal.columns)])[0]!;
  }

  /** Draws the lines that differ, from the screen's first row. The lines that do not fit scroll off. */
  #draw(given: readonly string[], cursor: { row: number; col: number } | null, clearing: string): void {
    const { lines: former, cursorRow } = this.#onScreen;
    const lines = given.map((line, at) => (line === this.#given[at] ? former[at]! : this.#fitted(line)));
    let output = clearing + former.map((line, at) => (line === lines[at] ? "" : deletedImage(line))).join("");
    let row = cursorRow;
    const goTo = (to: number) => {
      output += `${vertical(to - row)}\r`;
      row = to;
    };
    for (let at = 0; at < Math.max(lines.length, former.length); at += 1) {
      const line = lines[at] ?? "";
      if (line === former[at]) continue;
      goTo(at < former.length ? at : Math.max(0, at - 1));
      if (at >= former.length && at > 0) output += "\r\n";
      const below = rowsBelow(given, at);
      // The rows of an image scroll the screen before it is drawn.
      output += `\x1b[2K${"\r\n\x1b[2K".repeat(below)}${vertical(-below)}${below > 0 ? "\r" : ""}${line}${vertical(below)}`;
      at += below;
      row = at;
    }
    goTo(cursor?.row ?? Math.max(0, lines.length - 1));
    output += `\x1b[${(cursor?.col ?? 0) + 1}G`;
    this.terminal.write(`\x1b[?2026h${output}\x1b[?2026l`);
    if (cursor !== null && this.getShowHardwareCursor()) this.terminal.showCursor();
    else this.terminal.hideCursor();
    const top = Math.max(0, lines.length - this.terminal.rows);
    this.#onScreen = { lines: lines.slice(top), cursorRow: row - top, cursorColumn: cursor?.col ?? 0 };
  }
}

function deletedImage(line: string): string {
  const id = /_Ga=T,[^;]{0,200}\bi=(\d+)/.exec(line)?.[1];
  return id === undefined ? "" : deleteKittyImage(Number(id));
}

/** Number of blank rows that an image of Kitty takes below its line. */
function rowsBelow(lines: readonly string[], at: number): number {
  const line = lines[at] ?? "";
  if (!line.includes("\x1b_G")) return 0;
  const height = Number(/,r=(\d+)/.exec(line)?.[1] ?? 1);
  let below = 0;
  while (below < height - 1 && lines[at + below + 1] === "") below += 1;
  return below;
}

/** Erases row by row: terminals move a screen that is erased from its beginning into the scrollback. */
const ERASE_BELOW = "\x1b[2K\x1b7\x1b[1B\x1b[J\x1b8";

/** Moves the cursor down, or up for a negative number of rows. */
function vertical(rows: number): string {
  if (rows === 0) return "";
  return rows > 0 ? `\x1b[${rows}B` : `\x1b[${-rows}A`;
}
