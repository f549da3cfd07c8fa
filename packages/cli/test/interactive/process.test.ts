import { expect, test } from "vitest";
import { agentProject, says } from "../agent-project.ts";
import { openProcess } from "./process-terminal.ts";

test("starts, takes a prompt, streams its answer, and ends with /quit", async () => {
  const { terminal, ended } = await openProcess({ project: agentProject(says("The answer is 42.")) });
  await terminal.until("scripted");
  terminal.type("What is it?\n");
  await terminal.until("The answer is 42.");
  terminal.type("/quit\n");
  expect(await ended).toBe(0);
  expect(terminal.scrollback()).toContain("What is it?");
});

test("comes back with -c to what a kill cut short", async () => {
  const project = agentProject({
    contextWindow: 100_000,
    turn: [{ text: `Word ${"word ".repeat(400)}`, delayMs: 50, chunkChars: 8 }],
    atEnd: "repeat",
  });
  const first = await openProcess({ project });
  await first.terminal.until("scripted");
  first.terminal.type("Tell me a long story\n");
  await first.terminal.until("Word word");
  first.kill();
  expect(await first.ended).toBe(137);
  const { terminal } = await openProcess({ project, argv: ["-c"] });
  await terminal.until("Tell me a long story");
});
