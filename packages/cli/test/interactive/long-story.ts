import type { Scenario } from "@bonsai-agent/models/scripted";

/** An answer that begins with `Begun word` and goes on until it is stopped, or longer than a test waits. */
export const longStory = {
  text: `Begun ${"word ".repeat(2_000)}`,
  delayMs: 20,
  chunkChars: 8,
} satisfies Scenario["turn"][number];
