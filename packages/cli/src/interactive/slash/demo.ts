import type { CliIo, OutStream } from "../../call/io.ts";
import { Output } from "../../call/output.ts";
import { run } from "../../demo/demo.ts";
import type { InteractiveContext, SlashCommand } from "../interactive-context.ts";
import { keys } from "../terminal/keys.ts";
import type { Screen } from "../terminal/screen.ts";
import { type Component, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "../terminal/tui.ts";

export const demoCommand: Omit<SlashCommand, "description"> = {
  name: "demo",
  worksWhileBusy: true,
  async run(args, context) {
    const { screen } = context;
    if (playing.has(screen))
      return context.notify(`The demo is already running. Press ${keys.label("interrupt")} to stop it.`);
    playing.add(screen);
    try {
      await play(context, args === "fast");
    } finally {
      playing.delete(screen);
    }
  },
};

/** Once at a time. */
const playing = new WeakSet<Screen>();

/** Plays the demonstration in the chat; the user can type along, and Esc ends it. @param fast does not wait for readers */
async function play({ screen, host, interruptible }: InteractiveContext, fast: boolean): Promise<void> {
  const story = new DemoStory(() => {
    // Whoever goes to another session meanwhile has a chat without it.
    if (!screen.chat.children.includes(story)) screen.chat.addChild(story);
    screen.redraw();
  });
  const key = keys.label("interrupt");
  story.write(` The demo does not change your session. You can type meanwhile; ${key} stops it.\n`);
  const write = (text: string) => story.write(text);
  const stream: OutStream = { isTTY: true, columns: screen.columns, write };
  await interruptible(async (signal) => {
    const io: CliIo = {
      ...host.app.call.io,
      stdin: undefined,
      stdout: stream,
      stderr: stream,
      interruptible: (task) => task(signal),
    };
    await run({ args: [], options: { fast }, io, output: new Output(io, false) });
  });
}

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
