import { deleteKittyImage, TuiMainScreen, type TuiMainScreenRenderState } from "@earendil-works/pi-tui";
import { fittedLine, withoutPadding } from "./fitted-lines.ts";
import { drawsImage } from "./inline-image.ts";
import { rowsOf } from "./screen-plan.ts";

/**
 * The library's renderer, given the lines that it draws instead of its children's.
 *
 * For an image at the end, the rows of the image come first, and scroll what is above them; then the image, into rows that
 * are there. The library ends the process for a line that does not fit. Here it is cut.
 */
export class LibraryScreen extends TuiMainScreen {
  /** What the library draws. */
  #window: string[] | undefined;
  #given: readonly string[] = [];
  #cursorColumn = 0;
  /** True while images can come a frame later than their rows. */
  #canWait = false;
  #isWaiting = false;

  override render(width: number): string[] {
    return this.#window ?? super.render(width);
  }

  /** For what size was drawn: 0 columns before anything was, -1 when somebody else had the terminal. */
  protected get drawnSize(): { columns: number; rows: number } {
    const { previousWidth, previousHeight } = this.#state;
    return { columns: previousWidth, rows: previousHeight };
  }

  protected get onScreen(): OnScreen {
    const { previousLines, previousViewportTop: top, hardwareCursorRow } = this.#state;
    return {
      lines: previousLines.slice(top),
      cursorRow: hardwareCursorRow - top,
      cursorColumn: this.#cursorColumn,
    };
  }

  /** What is on the screen, as it was given, with what lies over it. */
  protected get givenOnScreen(): readonly string[] {
    return this.#given.slice(this.#state.previousViewportTop);
  }

  /** Draws all lines, from where the cursor is. */
  protected drawAnew(lines: readonly string[]): void {
    const images = this.onScreen.lines.flatMap((line) => /_Ga=T,[^;]{0,200}\bi=(\d+)/.exec(line)?.[1] ?? []);
    if (images.length > 0) this.terminal.write(images.map((id) => deleteKittyImage(Number(id))).join(""));
    this.resetRenderState();
    Object.assign(this.#state, { previousWidth: 0, previousHeight: 0 });
    this.#given = [];
    this.#drawWindow(lines);
  }

  /** Draws, from the screen's first row, the lines that differ from what is there. */
  protected drawOver(lines: readonly string[]): void {
    this.#canWait = this.#goOnFromScreen();
    this.#drawWindow(lines);
    this.#canWait = false;
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    this.#goOnFromScreen();
    this.#drawWindow(lines.slice(-this.terminal.rows));
  }

  /** Has the library forget what is above the screen. @returns false when nothing is on it */
  #goOnFromScreen(): boolean {
    const { lines, cursorRow } = this.onScreen;
    const given = this.givenOnScreen;
    Object.assign(this.#state, {
      previousLines: lines,
      previousViewportTop: 0,
      hardwareCursorRow: cursorRow,
      cursorRow: Math.max(0, lines.length - 1),
    });
    this.#given = given;
    return lines.length > 0;
  }

  #drawWindow(lines: readonly string[]): void {
    this.#window = [...lines];
    super.doRender();
    this.#window = undefined;
  }

  /**
   * What the library (0.87.1) knows of the screen: its private fields, named as in what `captureRenderState` returns. What
   * it gives to change them, `restoreRenderState`, forgets the images that are drawn. Only here are they touched.
   */
  get #state(): TuiMainScreenRenderState {
    return this as unknown as TuiMainScreenRenderState;
  }

  protected override extractCursorPosition(lines: string[], height: number) {
    const position = super.extractCursorPosition(lines, height);
    this.#cursorColumn = position?.col ?? 0;
    return position;
  }

  protected override applyLineResets(lines: string[]): string[] {
    const given = this.#canWait ? this.#withoutNewImages(lines) : lines;
    const { previousLines } = this.#state;
    const made = given.map((line, at) =>
      line === this.#given[at]
        ? previousLines[at]!
        : super.applyLineResets([
            fittedLine(drawsImage(line) ? line : withoutPadding(line), this.terminal.columns),
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

/** What stands on a screen, and where the cursor is in it: both from 0. */
interface OnScreen {
  readonly lines: readonly string[];
  readonly cursorRow: number;
  readonly cursorColumn: number;
}

/** What a terminal has made of its screen when its size changed. */
interface Reflow {
  /** So many lines, the first, were pushed off the screen. */
  readonly pushed: number;
  /** So many rows stand above the cursor, those that were pushed off among them. */
  readonly rowsAbove: number;
  /** So many rows more than before stand below the cursor's line. */
  readonly rowsMoreBelow: number;
}

/** How a terminal lays its screen out anew for another size. */
export function reflow(
  { lines, cursorRow, cursorColumn }: OnScreen,
  { columns, rows }: { columns: number; rows: number },
): Reflow {
  const heights = lines.map((line) => (drawsImage(line) ? 1 : rowsOf(line, columns)));
  const rowsAbove =
    heights.slice(0, cursorRow).reduce((sum, each) => sum + each, 0) + Math.floor(cursorColumn / columns);
  let pushed = 0;
  for (let excess = rowsAbove + 1 - rows; pushed < cursorRow; pushed += 1) {
    excess -= heights[pushed]!;
    if (excess < 0) break;
  }
  const rowsMoreBelow = heights.slice(cursorRow).reduce((sum, each) => sum + each - 1, 0);
  return { pushed, rowsAbove, rowsMoreBelow };
}
