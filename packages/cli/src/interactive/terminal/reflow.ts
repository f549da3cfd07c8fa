import { drawsImage } from "./inline-image.ts";
import { rowsOf } from "./kept-lines.ts";

/** What stands on a screen, and where the cursor is in it: both from 0. */
export interface OnScreen {
  readonly lines: readonly string[];
  readonly cursorRow: number;
  readonly cursorColumn: number;
}

/** What a terminal has made of its screen when its size changed. */
export interface Reflow {
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
  for (let room = rowsAbove + 1 - rows; pushed < cursorRow; pushed += 1) {
    room -= heights[pushed]!;
    if (room < 0) break;
  }
  const rowsMoreBelow = heights.slice(cursorRow).reduce((sum, each) => sum + each - 1, 0);
  return { pushed, rowsAbove, rowsMoreBelow };
}
