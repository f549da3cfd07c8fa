import { type Component, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "../terminal/tui.ts";

/** The lines of the demonstration, as they come. */
export class DemoStory implements Component {
  readonly #redraw: () => void;
  readonly #lines: string[] = [""];
  #shown: { width: number; lines: string[] } | undefined;

  /** @param redraw called when there is more to see */
  constructor(redraw: () => void) {
    this.#redraw = redraw;
  }

  /** Takes text as a terminal does: styled, and broken into lines already. */
  write(text: string): void {
    const [first = "", ...more] = text.split("\n");
    this.#lines.push(`${this.#lines.pop() ?? ""}${first}`, ...more);
    this.invalidate();
    this.#redraw();
  }

  render(width: number): string[] {
    if (this.#shown?.width !== width)
      this.#shown = { width, lines: this.#lines.flatMap((line) => fitted(line, width)) };
    return this.#shown.lines;
  }

  invalidate(): void {
    this.#shown = undefined;
  }
}

/** Rules, boxes and bars. */
const drawing = /[\u2500-\u259f]/;

/** What the terminal has become too narrow for: a path is to be read in full, a chart keeps its shape. */
function fitted(line: string, width: number): string[] {
  if (visibleWidth(line) <= width) return [line];
  return drawing.test(line) ? [truncateToWidth(line, width, "…")] : wrapTextWithAnsi(line, width);
}
