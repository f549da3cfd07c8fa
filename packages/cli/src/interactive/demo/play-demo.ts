import { run } from "../../commands/demo.ts";
import type { CliIo, OutStream } from "../../io.ts";
import { Output } from "../../output.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import { keys } from "../keys/keys.ts";
import type { Screen } from "../screen.ts";
import { DemoStory } from "./demo-story.ts";

export interface PlayDemoOptions {
  /** Does not wait for readers. */
  fast: boolean;
}

const playing = new WeakSet<Screen>();

/** Plays the demonstration in the chat, once at a time; the user can type along, and Esc ends it. */
export async function playDemo(work: InteractiveWork, options: PlayDemoOptions): Promise<void> {
  const { screen } = work;
  if (playing.has(screen)) {
    const message = `The demonstration is playing; ${keys.label("interrupt")} ends it.`;
    work.tell({ level: "info", message });
    return;
  }
  playing.add(screen);
  try {
    await play(work, options);
  } finally {
    playing.delete(screen);
  }
}

async function play({ screen, host, interruptible }: InteractiveWork, { fast }: PlayDemoOptions) {
  const story = new DemoStory(() => {
    // Whoever goes to another session meanwhile has a chat without it.
    if (!screen.chat.children.includes(story)) screen.chat.addChild(story);
    screen.redraw();
  });
  story.write(
    ` Nothing of this touches your session. ${keys.label("interrupt")} ends it; type along as you like.\n`,
  );
  const stream: OutStream = {
    isTTY: true,
    columns: screen.columns,
    write: (text) => story.write(text),
  };
  await interruptible(async (signal) => {
    const io: CliIo = {
      ...host.workshop.call.io,
      ...{ stdin: undefined, stdout: stream, stderr: stream },
      interruptible: (task) => task(signal),
    };
    await run({ args: [], options: { fast }, io, output: new Output(io, false) });
  });
}
