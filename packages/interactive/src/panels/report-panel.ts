import { type Line, renderLine } from "@bonsai-agent/app/line";
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
  #made: { width: number; lines: readonly string[] } | undefined;
  #shown: { key: string; lines: string[] } | undefined;
  #top = 0;

  constructor(options: ReportPanelOptions) {
    this.#options = options;
  }

  render(width: number): string[] {
    const lines = this.#lines(width);
    const rows = this.#rows();
    this.#top = Math.max(0, Math.min(this.#top, lines.length - rows));
    const key = `${width} ${rows} ${this.#top}`;
    if (this.#shown?.key !== key) this.#shown = { key, lines: this.#frame(lines, rows, width) };
    return this.#shown.lines;
  }

  invalidate(): void {
    this.#made = undefined;
    this.#shown = undefined;
  }

  handleInput(data: string): void {
    const { screen, leave } = this.#options;
    const bindings = getKeybindings();
    const step = scrollStep(data, this.#rows());
    if (bindings.matches(data, "tui.select.cancel") || bindings.matches(data, "tui.select.confirm")) leave();
    else if (step !== 0) {
      this.#top += step;
      screen.redraw();
    }
  }

  #frame(lines: readonly string[], rows: number, width: number): string[] {
    const { theme } = this.#options.screen;
    const scroll: KeyHint = [`${keyName("tui.select.up")}/${keyName("tui.select.down")}`, "scroll"];
    const close: KeyHint = [keyName("tui.select.cancel"), "close"];
    const hints = lines.length > rows ? [scroll, close] : [close];
    return framed(theme, width, lines.slice(this.#top, this.#top + rows), hints);
  }

  #rows(): number {
    return Math.max(LEAST_ROWS, this.#options.screen.rows - ROWS_AROUND);
  }

  #lines(width: number): readonly string[] {
    if (this.#made?.width === width) return this.#made.lines;
    const { lines, screen } = this.#options;
    const hasColour = screen.theme.scheme !== "none";
    const columns = Math.max(1, width - 1);
    const made = [...lines(columns)].map((line) => truncateToWidth(` ${renderLine(line, hasColour)}`, width));
    this.#made = { width, lines: made };
    this.#shown = undefined;
    return made;
  }
}
