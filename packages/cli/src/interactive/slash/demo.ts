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

const playing = new WeakSet<Screen>();

/** Plays the demo in the chat. The user can type meanwhile; Esc stops it. @param fast does not wait for readers */
async function play({ screen, host, interruptible }: InteractiveContext, fast: boolean): Promise<void> {
  const story = new DemoStory(() => {
    // Another session may have replaced the chat.
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

export class DemoStory implements Component {
  readonly #redraw: () => void;
  readonly #lines: string[] = [""];
  #shown: { width: number; lines: string[] } | undefined;

  constructor(redraw: () => void) {
    this.#redraw = redraw;
  }

  /** Takes styled lines, like a terminal. */
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

/** Wraps long text and cuts charts, so that they keep their shape. */
function fitted(line: string, width: number): string[] {
  if (visibleWidth(line) <= width) return [line];
  return drawing.test(line) ? [truncateToWidth(line, width, "…")] : wrapTextWithAnsi(line, width);
}
