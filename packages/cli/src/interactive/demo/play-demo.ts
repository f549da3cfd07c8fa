import { run } from "../../commands/demo.ts";
import type { CliIo, OutStream } from "../../io.ts";
import { Output } from "../../output.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import { DemoStory } from "./demo-story.ts";

export interface PlayDemoOptions {
  /** Does not wait for readers. */
  fast: boolean;
}

/** Plays the demonstration in the chat; the user can type along, and Esc ends it. */
export async function playDemo(work: InteractiveWork, options: PlayDemoOptions): Promise<void> {
  const { screen, host, interruptible } = work;
  const story = new DemoStory(() => screen.redraw());
  screen.chat.addChild(story);
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
    await run({ args: [], options: { fast: options.fast }, io, output: new Output(io, false) });
  });
}
