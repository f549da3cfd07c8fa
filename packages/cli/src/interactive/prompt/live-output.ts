import { oneLine } from "../../views/printable.ts";
import { outputLines, shownLine } from "../chat/output-lines.ts";
import type { Screen } from "../screen.ts";
import { type Component, truncateToWidth } from "../terminal/tui.ts";

const MOST_LINES = 10;
/** Of the end of the output; lines that are longer are cut at their beginning. */
const MOST_CHARS = 20_000;

/** The end of what a command has written so far. */
class LiveOutput implements Component {
  readonly #screen: Screen;
  readonly #command: string;
  #end = "";
  #shown: { width: number; lines: string[] } | undefined;

  constructor(screen: Screen, command: string) {
    this.#screen = screen;
    this.#command = oneLine(command);
  }

  add(text: string): void {
    this.#end = `${this.#end}${text}`.slice(-MOST_CHARS);
    this.#shown = undefined;
  }

  render(width: number): string[] {
    if (this.#shown?.width !== width) this.#shown = { width, lines: this.#lines(width) };
    return this.#shown.lines;
  }

  invalidate(): void {
    this.#shown = undefined;
  }

  #lines(width: number): string[] {
    const { style } = this.#screen.theme;
    const all = outputLines(this.#end);
    return [
      truncateToWidth(` ${style.accent("$")} ${style.bold(this.#command)}`, width, "…"),
      ...all
        .slice(-MOST_LINES)
        .map((line) => style.muted(truncateToWidth(`   ${shownLine(line)}`, width, "…"))),
    ];
  }
}

/** Shows what a command writes while it runs; what stays of it in the chat, others show. */
export async function withLiveOutput<Value>(
  screen: Screen,
  command: string,
  run: (onOutput: (text: string) => void) => Promise<Value>,
): Promise<Value> {
  const { chat } = screen;
  const live = new LiveOutput(screen, command);
  try {
    return await run((text) => {
      live.add(text);
      // Whoever builds the chat anew does not know of it.
      if (!chat.children.includes(live)) chat.addChild(live);
      screen.redraw();
    });
  } finally {
    chat.removeChild(live);
    screen.redraw();
  }
}
