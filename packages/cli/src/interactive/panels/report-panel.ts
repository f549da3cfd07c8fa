import { type Line, renderLine } from "../../views/line.ts";
import type { Panel, Screen } from "../terminal/screen.ts";
import { getKeybindings, truncateToWidth } from "../terminal/tui.ts";
import { framed, type KeyHint, keyName, scrollStep } from "./panel-frame.ts";

interface ReportPanelOptions {
  screen: Screen;
  lines: (width: number) => Iterable<Line>;
  leave: () => void;
}

/** Rows of the screen that are left to what stands around the report. */
const ROWS_AROUND = 7;
const LEAST_ROWS = 4;

/** Shows a report until the user leaves it. @param lines at a width; made anew when the width changes */
export async function showReport(screen: Screen, lines: ReportPanelOptions["lines"]): Promise<void> {
  await screen.show<void>((done) => new ReportPanel({ screen, lines, leave: () => done(undefined) }));
}

/** A report in the place of the editor: scrolled where it is taller than the terminal. */
class ReportPanel implements Panel {
  readonly #options: ReportPanelOptions;
  readonly #report: ScrolledReport;
  #shown: { key: string; lines: string[] } | undefined;

  constructor(options: ReportPanelOptions) {
    this.#options = options;
    this.#report = new ScrolledReport(options);
  }

  render(width: number): string[] {
    const rows = this.#rows();
    const lines = this.#report.render(width, rows);
    const key = `${width} ${rows} ${this.#report.top}`;
    if (this.#shown?.key !== key) this.#shown = { key, lines: this.#frame(lines, width) };
    return this.#shown.lines;
  }

  invalidate(): void {
    this.#report.invalidate();
    this.#shown = undefined;
  }

  handleInput(data: string): void {
    const { screen, leave } = this.#options;
    const bindings = getKeybindings();
    if (bindings.matches(data, "tui.select.cancel") || bindings.matches(data, "tui.select.confirm")) leave();
    else if (this.#report.handleInput(data)) screen.redraw();
  }

  #frame(lines: readonly string[], width: number): string[] {
    const close: KeyHint = [keyName("tui.select.cancel"), "close"];
    return framed(this.#options.screen.theme, width, lines, [...this.#report.hints(), close]);
  }

  #rows(): number {
    return Math.max(LEAST_ROWS, this.#options.screen.rows - ROWS_AROUND);
  }
}

/** Owner of the lines of a report at a width, and of how far they are scrolled. */
export class ScrolledReport {
  readonly #options: Pick<ReportPanelOptions, "screen" | "lines">;
  #made: { width: number; lines: readonly string[] } | undefined;
  #top = 0;
  #rows = LEAST_ROWS;

  constructor(options: Pick<ReportPanelOptions, "screen" | "lines">) {
    this.#options = options;
  }

  /** The first line that is shown. */
  get top(): number {
    return this.#top;
  }

  /** @param rows at most so many lines */
  render(width: number, rows: number): readonly string[] {
    const lines = this.#lines(width);
    this.#rows = rows;
    this.#top = Math.max(0, Math.min(this.#top, lines.length - rows));
    return lines.slice(this.#top, this.#top + rows);
  }

  /** @returns true where the key scrolls */
  handleInput(data: string): boolean {
    const step = scrollStep(data, this.#rows);
    this.#top += step;
    return step !== 0;
  }

  /** The keys that scroll, where there is more than is shown. */
  hints(): KeyHint[] {
    if ((this.#made?.lines.length ?? 0) <= this.#rows) return [];
    return [[`${keyName("tui.select.up")}/${keyName("tui.select.down")}`, "scroll"]];
  }

  invalidate(): void {
    this.#made = undefined;
  }

  #lines(width: number): readonly string[] {
    if (this.#made?.width === width) return this.#made.lines;
    const { lines, screen } = this.#options;
    const hasColour = screen.theme.mode !== "none";
    const columns = Math.max(1, width - 1);
    const made = [...lines(columns)].map((line) => truncateToWidth(` ${renderLine(line, hasColour)}`, width));
    this.#made = { width, lines: made };
    return made;
  }
}
