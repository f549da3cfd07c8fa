import { expect, test } from "vitest";
import { agentProject, says } from "../agent-project.ts";
import { Tmux } from "./tmux.ts";

const story = { text: `Begun. ${"And then. ".repeat(2_000)}`, delayMs: 5, chunkChars: 12 };

test("start, type, stream, Ctrl-C twice: the screen stays behind in the scrollback", async () => {
  const tmux = new Tmux({ project: agentProject(says("The answer is 42.")) });
  await tmux.until("scripted");
  tmux.type("What is it?");
  tmux.press("Enter");
  await tmux.until("The answer is 42.");
  tmux.press("C-c", "C-c");
  await tmux.until("ended with 0");
  expect(tmux.scrollback()).toContain("What is it?");
});

test("queue, resize and Esc while it streams", async () => {
  const tmux = new Tmux({
    project: agentProject({ contextWindow: 100_000, turn: [story, { text: "Short." }] }),
  });
  await tmux.until("scripted");
  tmux.type("Tell me");
  tmux.press("Enter");
  await tmux.until("Begun.");
  tmux.type("Be short");
  tmux.press("Enter");
  await tmux.until("Next: Be short");
  tmux.resize(50, 20);
  await tmux.until(/^─{50}$/m);
  tmux.press("Escape");
  await tmux.until(/─\n+\s*Be short\s*\n─/);
  tmux.press("Enter");
  await tmux.until("Short.");
});

test("compact, tree, fork and resume", async () => {
  const turn = ["One", "Two", "Three"].map((word) => ({
    text: `Answer ${word}. ${"Long. ".repeat(2_500)}End ${word}.`,
  }));
  const project = agentProject({ contextWindow: 30_000, turn });
  const tmux = new Tmux({ project, rows: 40 });
  await tmux.until("scripted");
  for (const [question, end] of [
    ["First question", "End One."],
    ["Second question", "End Two."],
    ["Third question", "End Three."],
  ] as const) {
    tmux.type(question);
    tmux.press("Enter");
    await tmux.until(end);
  }
  tmux.type("/compact");
  tmux.press("Enter");
  await tmux.until("Compact");
  tmux.type("/tree");
  tmux.press("Enter");
  await tmux.until("Session tree");
  tmux.press("Escape");
  // A key right behind Esc would be Alt and that key.
  await tmux.until(/^(?![\s\S]*Session tree)/);
  tmux.type("/fork");
  tmux.press("Enter");
  await tmux.until("Fork:");
  tmux.press("Enter");
  await tmux.until("This is a new session");
  tmux.press("C-u");
  tmux.type("/resume");
  tmux.press("Enter");
  await tmux.until(/^ 1\/2$/m);
  // The session before is the one where something happened last.
  tmux.press("Enter");
  await tmux.until("End Three.");
});

test("kill, and go on with -c", async () => {
  const project = agentProject({ contextWindow: 100_000, turn: [story], atEnd: "repeat" });
  const first = new Tmux({ project });
  await first.until("scripted");
  first.type("Tell me a long story");
  first.press("Enter");
  await first.until("And then.");
  first.kill();
  await first.until("ended with 137");
  const second = new Tmux({ project, argv: ["-c"] });
  await second.until("Tell me a long story");
});
