import { type Line, renderLine } from "../../views/line.ts";
import { counted } from "../../views/numbers.ts";
import { shownKey } from "../terminal/keys.ts";
import type { Panel, Screen } from "../terminal/screen.ts";
import type { Theme } from "../terminal/theme.ts";
import { getKeybindings, type KeyId, matchesKey, truncateToWidth } from "../terminal/tui.ts";
import { framed, type KeyHint, keyName, scrollStep, textLines } from "./panel-frame.ts";

/** Rows of the screen around the report. */
const ROWS_AROUND = 7;
const MIN_ROWS = 4;

type MakeLines = (width: number) => Iterable<Line>;

/** A key that opens another panel over a report. The report is drawn again afterwards. */
interface ReportAction {
  key: KeyId;
  does: string;
  run(): Promise<void>;
}

/** Shows a report until the user leaves it. @param lines called again when the width changes */
export async function showReport(screen: Screen, lines: MakeLines, action?: ReportAction): Promise<void> {
  await screen.show<void>((done) => new ReportPanel(screen, lines, () => done(undefined), action));
}

/** A report in the place of the editor; scrolled if it is taller than the terminal. */
class ReportPanel implements Panel {
  readonly #screen: Screen;
  readonly #leave: () => void;
  readonly #report: ScrolledLines;
  readonly #action: ReportAction | undefined;

  constructor(screen: Screen, lines: MakeLines, leave: () => void, action?: ReportAction) {
    this.#screen = screen;
    this.#leave = leave;
    this.#action = action;
    this.#report = scrolledReport(screen, lines);
  }

  render(width: number): string[] {
    const rows = Math.max(MIN_ROWS, this.#screen.rows - ROWS_AROUND);
    const lines = this.#report.render(width, rows);
    const action = this.#action;
    const own: KeyHint[] = action === undefined ? [] : [[shownKey(action.key), action.does]];
    const close: KeyHint = [keyName("tui.select.cancel"), "close"];
    return framed(this.#screen.theme, width, lines, [...this.#report.hints(), ...own, close]);
  }

  invalidate(): void {
    this.#report.invalidate();
  }

  handleInput(data: string): void {
    const bindings = getKeybindings();
    if (bindings.matches(data, "tui.select.cancel") || bindings.matches(data, "tui.select.confirm"))
      this.#leave();
    else if (this.#action !== undefined && matchesKey(data, this.#action.key)) void this.#act(this.#action);
    else if (this.#report.handleInput(data)) this.#screen.redraw();
  }

  async #act({ run }: ReportAction): Promise<void> {
    await run();
    this.invalidate();
    this.#screen.redraw();
  }
}

export function scrolledReport({ theme }: Screen, lines: MakeLines): ScrolledLines {
  return new ScrolledLines((width) =>
    [...lines(Math.max(1, width - 1))].map((line) =>
      truncateToWidth(` ${renderLine(line, theme.mode !== "none")}`, width),
    ),
  );
}

/** Owner of lines at a width and of how far they are scrolled. */
export class ScrolledLines {
  readonly #make: (width: number) => readonly string[];
  #made: { width: number; lines: readonly string[] } | undefined;
  #top = 0;
  #rows = MIN_ROWS;

  constructor(make: (width: number) => readonly string[]) {
    this.#make = make;
  }

  /** @param rows maximum number of lines */
  render(width: number, rows: number): readonly string[] {
    const lines = this.#lines(width);
    this.#rows = rows;
    this.#top = Math.max(0, Math.min(this.#top, lines.length - rows));
    return lines.slice(this.#top, this.#top + rows);
  }

  /** As `render`; the last line counts the lines below if there are too many. */
  renderCounted(width: number, rows: number, { style }: Theme): readonly string[] {
    const { length } = this.#lines(width);
    if (length <= rows) return this.render(width, rows);
    const shown = this.render(width, Math.max(1, rows - 1));
    const left = length - this.#top - shown.length;
    const [[keys]] = this.hints() as [KeyHint];
    const more = left > 0 ? `${counted(left, "more line")} (${keys})` : `end of text (${keys})`;
    return [...shown, ...textLines(more, width).slice(0, 1).map(style.dim)];
  }

  /** @returns true if the key scrolls */
  handleInput(data: string): boolean {
    const step = scrollStep(data, this.#rows);
    this.#top += step;
    return step !== 0;
  }

  /** The keys that scroll, if there are more lines than shown. */
  hints(): KeyHint[] {
    if ((this.#made?.lines.length ?? 0) <= this.#rows) return [];
    return [[`${keyName("tui.select.up")}/${keyName("tui.select.down")}`, "scroll"]];
  }

  invalidate(): void {
    this.#made = undefined;
  }

  #lines(width: number): readonly string[] {
    if (this.#made?.width !== width) this.#made = { width, lines: this.#make(width) };
    return this.#made.lines;
  }
}
