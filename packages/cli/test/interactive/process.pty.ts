import { expect, test } from "vitest";
import { agentProject, says } from "../agent-project.ts";
import { openProcess } from "./process-terminal.ts";

test("starts, takes a prompt, streams its answer, and ends with Ctrl-C twice", async () => {
  const { terminal, ended } = await openProcess({ project: agentProject(says("The answer is 42.")) });
  await terminal.until("scripted");
  terminal.type("What is it?\n");
  await terminal.until("The answer is 42.");
  terminal.press("ctrl+c", "ctrl+c");
  expect(await ended).toBe(0);
  expect(terminal.scrollback()).toContain("What is it?");
  expect(terminal.scrollback()).toContain("Go on with bonsai");
});

const story = { text: `Begun. ${"And then. ".repeat(2_000)}`, delayMs: 5, chunkChars: 12 };

test("queues what is sent while it streams, gives it back on Esc, and redraws on a resize", async () => {
  const project = agentProject({ contextWindow: 100_000, turn: [story, { text: "Short." }] });
  const { terminal, ended } = await openProcess({ project });
  await terminal.until("scripted");
  terminal.type("Tell me\n");
  await terminal.until("Begun.");
  terminal.type("Be short\n");
  await terminal.until("Next: Be short");
  terminal.resize(60, 20);
  await terminal.until((screen) => screen.match(/^─{60}$/gm)?.length === 2);
  terminal.press("esc");
  await terminal.until(/─\n+\s*Be short\s*\n─/);
  terminal.press("enter");
  await terminal.until("Short.");
  terminal.type("/quit\n");
  expect(await ended).toBe(0);
});

test("goes to another place of the tree, with the text of the message there in the editor", async () => {
  const project = agentProject({
    contextWindow: 100_000,
    turn: ["One", "Two", "Three", "Four"].map((word) => ({ text: `Answer ${word}.` })),
  });
  const { terminal } = await openProcess({ project, rows: 40 });
  await terminal.until("scripted");
  terminal.type("First question\n");
  await terminal.until("Answer One.");
  terminal.type("Second question\n");
  await terminal.until("Answer Two.");
  terminal.type("/tree\n");
  await terminal.until("Session tree");
  terminal.press("up", "enter");
  await terminal.until(/No summary/i);
  terminal.press("enter");
  await terminal.until(
    (screen) => /─\n+\s*Second question\s*\n─/.test(screen) && !screen.includes("Answer Two."),
  );
  terminal.press("ctrl+u");
  terminal.type("Another question\n");
  await terminal.until("Answer Three.");
  expect(terminal.screen()).not.toContain("Answer Two.");
});

test("comes back with -c to what a kill cut short", async () => {
  const project = agentProject({ contextWindow: 100_000, turn: [story], atEnd: "repeat" });
  const first = await openProcess({ project });
  await first.terminal.until("scripted");
  first.terminal.type("Tell me a long story\n");
  await first.terminal.until("And then.");
  first.kill();
  expect(await first.ended).toBe(137);
  const { terminal } = await openProcess({ project, argv: ["-c"] });
  await terminal.until("Tell me a long story");
});
