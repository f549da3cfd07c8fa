import { deleteKittyImage, TuiMainScreen, type TuiMainScreenRenderState } from "@earendil-works/pi-tui";
import { fittedLine, withoutPadding } from "./fitted-lines.ts";
import { drawsImage } from "./inline-image.ts";
import { rowsOf } from "./screen-plan.ts";

/**
 * The library's renderer for given lines instead of children.
 *
 * An image at the end is drawn in two steps: first its rows, which scroll the lines above, then the image. A line that does
 * not fit is cut: the library would end the process.
 */
export class LibraryScreen extends TuiMainScreen {
  #window: string[] | undefined;
  #given: readonly string[] = [];
  #cursorColumn = 0;
  /** True while images can come a frame later than their rows. */
  #canWait = false;
  #isWaiting = false;

  override render(width: number): string[] {
    return this.#window ?? super.render(width);
  }

  /** The size of the last frame: 0 columns before the first one, -1 after another program had the terminal. */
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

  /** The given lines on the screen, with overlays. */
  protected get givenOnScreen(): readonly string[] {
    return this.#given.slice(this.#state.previousViewportTop);
  }

  /** Draws all lines from the cursor. */
  protected drawAnew(lines: readonly string[]): void {
    const images = this.onScreen.lines.flatMap((line) => /_Ga=T,[^;]{0,200}\bi=(\d+)/.exec(line)?.[1] ?? []);
    if (images.length > 0) this.terminal.write(images.map((id) => deleteKittyImage(Number(id))).join(""));
    this.resetRenderState();
    Object.assign(this.#state, { previousWidth: 0, previousHeight: 0 });
    this.#given = [];
    this.#drawWindow(lines);
  }

  /** Draws the lines that differ, from the screen's first row. */
  protected drawOver(lines: readonly string[]): void {
    this.#canWait = this.#goOnFromScreen();
    this.#drawWindow(lines);
    this.#canWait = false;
    if (!this.#isWaiting) return;
    this.#isWaiting = false;
    this.#goOnFromScreen();
    this.#drawWindow(lines.slice(-this.terminal.rows));
  }

  /** Makes the library forget the lines above the screen. @returns false for an empty screen */
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
   * The library's private fields (0.87.1), with the names that `captureRenderState` returns. `restoreRenderState` would
   * forget the drawn images.
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

  /** Blanks the new images on the screen. */
  #withoutNewImages(lines: string[]): string[] {
    const top = lines.length - this.terminal.rows;
    return lines.map((line, at) => {
      if (at < top || line === this.#given[at] || !drawsImage(line)) return line;
      this.#isWaiting = true;
      return "";
    });
  }
}

/** The lines of a screen, and the cursor in it from 0. */
interface OnScreen {
  readonly lines: readonly string[];
  readonly cursorRow: number;
  readonly cursorColumn: number;
}

/** A terminal's screen after a resize. */
interface Reflow {
  /** Number of the first lines that were pushed off the screen. */
  readonly pushed: number;
  /** Rows above the cursor, with the pushed ones. */
  readonly rowsAbove: number;
  /** Additional rows below the cursor's line. */
  readonly rowsMoreBelow: number;
}

/** Computes how a terminal lays out its screen for another size. */
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
