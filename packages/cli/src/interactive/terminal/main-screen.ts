import {
  type Component,
  deleteKittyImage,
  type Terminal,
  TuiMainScreen,
  type TuiMainScreenRenderState,
  truncateToWidth,
  visibleWidth,
} from "@earendil-works/pi-tui";
import { drawsImage } from "./inline-image.ts";
import {
  differentBlock,
  type Frame,
  firstDifference,
  movedTo,
  rowsOf,
  sameText,
  stillAt,
} from "./kept-lines.ts";
import { eraseBelow, up } from "./screen-sequences.ts";
import { withoutPadding } from "./without-padding.ts";

/** What is drawn for fewer columns is cut: into one or two, the library's components cannot lay out wide characters. */
const LEAST_COLUMNS = 10;

/** So many lines that have changed above the screen are printed anew at most. */
const MOST_PRINTED_LINES = 1_000;

export interface MainScreenOptions {
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
 * belong on the screen, and above them those that have to scroll off it.
 *
 * A line that has left the screen stays as it was; what changes above the screen is seen when it is drawn there. What the
 * user wants to see otherwise is printed below what was there: `showUnfolded`, `showOther`.
 *
 * For an image at the end, the rows of the image come first, and scroll what is above them; then the image, into rows that
 * are there. The library ends the process for a line that does not fit. Here it is cut.
 */
export class MainScreen extends TuiMainScreen {
  readonly #kept: ReadonlySet<Component>;
  readonly #rule: (width: number) => string;
  readonly #isXtermJs: boolean;
  #frame: Frame = { lines: [], kept: 0 };
  /** The first line on the screen. */
  #top = 0;
  /** So many lines are in the scrollback, or were there as something else. */
  #scrolled = 0;
  /** What the library draws. */
  #window: string[] | undefined;
  #change: "unfolded" | "other" | undefined;
  #given: readonly string[] = [];
  #cursorColumn = 0;
  /** True while images can come a frame later than their rows. */
  #canWait = false;
  #isWaiting = false;

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
    this.#change ??= "unfolded";
  }

  /** To be called when something else is shown: what was on the screen, and what is new, can be read by scrolling up. */
  showOther(): void {
    this.#change = "other";
  }

  protected override doRender(): void {
    if (this.stopped) return;
    this.#isWaiting = false;
    this.#canWait = true;
    this.#draw(this.#nextFrame());
    this.#canWait = false;
    if (this.#isWaiting) this.#draw(this.#frame);
  }

  override render(width: number): string[] {
    return this.#window ?? super.render(width);
  }

  #nextFrame(): Frame {
    const width = this.terminal.columns;
    const lines: string[] = [];
    let kept = 0;
    for (const child of this.children) {
      for (const line of child.render(Math.max(width, LEAST_COLUMNS))) lines.push(line);
      if (this.#kept.has(child)) kept = lines.length;
    }
    if (width >= LEAST_COLUMNS) return { lines, kept };
    return { lines: lines.map((line) => (drawsImage(line) ? "" : fitted(line, width))), kept };
  }

  #draw(frame: Frame): void {
    const change = this.#change;
    this.#change = undefined;
    const { previousWidth, previousHeight } = this.#drawn;
    // Nothing is drawn yet, or somebody else had the terminal.
    if (previousWidth <= 0) this.#begin(frame);
    else if (previousWidth !== this.terminal.columns || previousHeight !== this.terminal.rows)
      this.#fit(frame);
    else if (change === "unfolded" && this.#hasGrownAbove(frame)) this.#printUnfolded(frame);
    else if (change === "other") this.#showOther(frame);
    else this.#goOn(frame, movedTo(this.#frame, this.#scrolled, frame));
    super.doRender();
    this.#window = undefined;
    this.#frame = frame;
    this.#top = this.#topOf(frame);
    this.#scrolled = Math.min(frame.kept, Math.max(this.#scrolled, this.#top));
  }

  /** The first line that is on the screen then. */
  #topOf({ lines }: Frame): number {
    return Math.max(0, lines.length - this.terminal.rows);
  }

  #begin(frame: Frame): void {
    if (this.#drawn.previousWidth < 0) this.terminal.write("\r\x1b[J");
    this.#scrolled = Math.min(this.#scrolled, frame.kept);
    this.#print(frame);
  }

  /**
   * The terminal has another size, and has laid out anew what was on its screen: what it has pushed off the screen is not
   * printed again. A terminal that has more rows takes lines back, or not: printed from where they begin, they are pushed
   * to where they were.
   */
  #fit(frame: Frame): void {
    const { columns, rows } = this.terminal;
    const { lines, cursorRow } = this.#onScreen;
    const heights = lines.map((line) => (drawsImage(line) ? 1 : rowsOf(line, columns)));
    const aboveCursor =
      heights.slice(0, cursorRow).reduce((sum, each) => sum + each, 0) +
      Math.floor(this.#cursorColumn / columns);
    let pushed = 0;
    for (let room = aboveCursor + 1 - rows; pushed < cursorRow; pushed += 1) {
      room -= heights[pushed]!;
      if (room < 0) break;
    }
    const scrolled = Math.max(this.#scrolled, Math.min(this.#frame.kept, this.#top + pushed));
    this.#scrolled =
      this.#drawn.previousWidth === columns
        ? Math.min(scrolled, frame.kept)
        : sameText(this.#frame, scrolled, frame);
    // There the cursor has moved down for each line that takes another row, also for those below it.
    const slip = this.#isXtermJs ? heights.slice(cursorRow).reduce((sum, each) => sum + each - 1, 0) : 0;
    this.terminal.write(`${up(aboveCursor + slip)}${eraseBelow}`);
    this.#print(frame);
  }

  #hasGrownAbove(frame: Frame): boolean {
    return frame.kept > this.#frame.kept && firstDifference(this.#frame, frame) < this.#scrolled;
  }

  #printUnfolded(frame: Frame): void {
    this.#scrolled = this.#printedFrom(frame, differentBlock(this.#frame, frame));
    this.#clearRows(`${this.#rule(this.terminal.columns)}\r\n`);
    this.#print(frame);
  }

  #showOther(frame: Frame): void {
    const still = stillAt(this.#frame, this.#scrolled, frame);
    if (still !== undefined || this.#frame.kept === 0) {
      this.#goOn(frame, Math.min(still ?? 0, this.#scrolled === 0 ? 0 : frame.kept));
      return;
    }
    const { cursorRow } = this.#onScreen;
    const kept = Math.max(0, this.#frame.kept - this.#top);
    const known = Math.max(0, Math.min(kept, this.#scrolled - this.#top));
    const { rows, columns } = this.terminal;
    // The lines that are in the scrollback already go; below the others the screen is free, and is scrolled away.
    const left = `${known > 0 ? `\x1b[${known}M` : ""}${kept > known ? `\x1b[${kept - known}B` : ""}`;
    this.terminal.write(
      `${up(cursorRow)}${left}${eraseBelow}${this.#rule(columns)}${"\r\n".repeat(rows)}\x1b[H`,
    );
    this.#scrolled = this.#printedFrom(frame, firstDifference(this.#frame, frame));
    this.#print(frame);
  }

  /** Of what is printed anew, the first line. */
  #printedFrom(frame: Frame, wanted: number): number {
    const top = this.#topOf(frame);
    return Math.min(top, Math.max(wanted, top - MOST_PRINTED_LINES));
  }

  /** Draws what has changed on the screen. @param moved where the lines of the scrollback end; undefined: as they did */
  #goOn(frame: Frame, moved: number | undefined): void {
    this.#scrolled = Math.min(frame.kept, moved ?? this.#scrolled);
    const window = this.#windowOf(frame);
    const { lines, cursorRow, top } = this.#onScreen;
    const given = this.#given.slice(top);
    const above = window.slice(0, Math.max(0, window.length - this.terminal.rows));
    if (above.some((line, at) => drawsImage(line) && line !== given[at])) {
      this.#clearRows("");
      this.#print(frame);
      return;
    }
    Object.assign(this.#drawn, {
      previousLines: lines,
      previousViewportTop: 0,
      hardwareCursorRow: cursorRow,
      cursorRow: Math.max(0, lines.length - 1),
    });
    this.#given = given;
    this.#window = window;
    this.#canWait &&= lines.length > 0;
  }

  #clearRows(then: string): void {
    this.terminal.write(`${up(this.#onScreen.cursorRow)}${eraseBelow}${then}`);
  }

  /** Has the library print all that belongs on the screen, from where the cursor is. */
  #print(frame: Frame): void {
    const images = this.#onScreen.lines.flatMap((line) => /_Ga=T,[^;]*\bi=(\d+)/.exec(line)?.[1] ?? []);
    if (images.length > 0) this.terminal.write(images.map((id) => deleteKittyImage(Number(id))).join(""));
    this.resetRenderState();
    Object.assign(this.#drawn, { previousWidth: 0, previousHeight: 0 });
    this.#given = [];
    this.#canWait = false;
    this.#window = this.#windowOf(frame);
  }

  /** What belongs on the screen, and above it what has to scroll off it: of what is not kept, nothing. */
  #windowOf(frame: Frame): string[] {
    const { lines, kept } = frame;
    const top = this.#topOf(frame);
    return [...lines.slice(this.#scrolled, Math.min(top, kept)), ...lines.slice(top)];
  }

  /** What the library knows of the screen. Its own way to tell and to change it forgets the images. */
  get #drawn(): TuiMainScreenRenderState {
    return this as unknown as TuiMainScreenRenderState;
  }

  get #onScreen(): { lines: string[]; cursorRow: number; top: number } {
    const { previousLines, previousViewportTop: top, hardwareCursorRow } = this.#drawn;
    return { lines: previousLines.slice(top), cursorRow: hardwareCursorRow - top, top };
  }

  protected override extractCursorPosition(lines: string[], height: number) {
    const position = super.extractCursorPosition(lines, height);
    this.#cursorColumn = position?.col ?? 0;
    return position;
  }

  protected override applyLineResets(lines: string[]): string[] {
    const given = this.#canWait ? this.#withoutNewImages(lines) : lines;
    const { previousLines } = this.#drawn;
    const made = given.map((line, at) =>
      line === this.#given[at]
        ? previousLines[at]!
        : super.applyLineResets([
            fitted(drawsImage(line) ? line : withoutPadding(line), this.terminal.columns),
          ])[0]!,
    );
    this.#given = given;
    return made;
  }

  /** Those that are seen; what is above, the terminal cannot draw alone. */
  #withoutNewImages(lines: string[]): string[] {
    const top = lines.length - this.terminal.rows;
    return lines.map((line, at) => {
      if (at < top || line === this.#given[at] || !drawsImage(line)) return line;
      this.#isWaiting = true;
      return "";
    });
  }
}

function fitted(line: string, width: number): string {
  return drawsImage(line) || visibleWidth(line) <= width ? line : truncateToWidth(line, width, "");
}
