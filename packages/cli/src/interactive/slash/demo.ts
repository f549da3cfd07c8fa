import { playDemo } from "../demo/play-demo.ts";
import type { SlashCommand } from "./slash-command.ts";

export const demo: SlashCommand = {
  name: "demo",
  description: "Play a whole agent session on a scripted model, without a key",
  argumentHint: "[fast]",
  worksWhileBusy: true,
  complete: () => [{ value: "fast", label: "fast", description: "Do not wait for readers" }],
  run: (args, work) => playDemo(work, { fast: args === "fast" }),
};
