import { expect, test } from "vitest";
import { says } from "../call/agent-project.ts";
import { sampleLines } from "../call/sample-session.ts";
import { openInteractive } from "./harness.ts";
import type { HeadlessTerminal } from "./headless-terminal.ts";
import { expectScreen, openStage } from "./stage.ts";

const work = {
  contextWindow: 100_000,
  turn: [
    { text: "I read it first.", calls: [{ name: "read", arguments: { path: "total.ts" } }] },
    {
      calls: [
        {
          name: "edit",
          arguments: { path: "total.ts", edits: [{ oldText: "return 1", newText: "return sum(items)" }] },
        },
      ],
    },
    { calls: [{ name: "bash", arguments: { command: "echo 4 passed" } }] },
    { thinking: "All is well.", text: "Done: **the total** is computed.\n\n```ts\ntotal([1, 2]);\n```" },
  ],
};
const files = { "total.ts": "export function total(items) {\n  return 1;\n}\n" };

/** A project with the sample session, opened. */
async function openSample(options: { columns?: number; rows?: number } = {}) {
  // The session's own model goes on only where it could be asked.
  const env = { ANTHROPIC_API_KEY: "test-key" };
  const opened = await openStage({ ...options, env, files: { "sample.jsonl": sampleText } });
  opened.terminal.type("/resume sample.jsonl\n");
  await opened.terminal.until("the total is computed");
  // What it has cost is read behind it.
  await opened.terminal.until("$0.0500");
  return opened;
}

const sampleText = sampleLines()
  .map((line) => `${JSON.stringify(line)}\n`)
  .join("");

test("at the start there is an editor, and below it the folder and the model", async () => {
  const { terminal } = await openStage({});
  await expectScreen(terminal, "start");
});

test("tool calls stand with what they did, an edit with its difference", async () => {
  const { terminal } = await openStage({ scenario: work, files, rows: 40 });
  terminal.type("Make the totals right\n");
  await terminal.until("total([1, 2])");
  await expectScreen(terminal, "tools");
});

test("an answer streams in; what is sent meanwhile is queued and shown; Esc gives it back", async () => {
  const { terminal } = await openStage({ scenario: "# The plan\n\nFirst I will *look* at" });
  terminal.type("Make a plan\n");
  await terminal.until("First I will look at");
  terminal.type("And be quick\n");
  await terminal.until("And be quick");
  await expectScreen(terminal, "queue");
  terminal.press("esc");
  await terminal.until((screen) => /─\s*And be quick\s*─/.test(screen));
});

test("a resize in the middle of an answer draws all of it anew, and loses nothing", async () => {
  const { terminal } = await openStage({ scenario: `${"Some words that go on and on. ".repeat(12)}End` });
  terminal.type("Tell me\n");
  await terminal.until("End");
  terminal.resize(40, 24);
  // The terminal wraps what it has by itself, in the middle of words, until all is drawn anew.
  await terminal.until(
    (screen) => screen.match(/^─{40}$/gm)?.length === 2 && screen.includes("words that go on and on. End"),
  );
  await expectScreen(terminal, "resized");
  terminal.resize(100, 30);
  await terminal.until((screen) => screen.includes("─".repeat(100)));
  expect(terminal.scrollback().match(/Tell me/g)).toHaveLength(1);
});

test("in 40 columns everything fits, wide characters too", async () => {
  const { terminal } = await openStage({ scenario: work, files, columns: 40, rows: 50 });
  terminal.type("Make 合計を計算してください合計を計算してください right\n");
  await terminal.until("total([1, 2])");
  await expectScreen(terminal, "narrow");
});

test("without colours there is not one sequence for a colour", async () => {
  const { terminal } = await openStage({ scenario: work, files });
  terminal.type("Make the totals right\n");
  await terminal.until("total([1, 2])");
  expect(terminal.written.join("").split("\u001b[").filter(isColour)).toEqual([]);
});

function isColour(behindEscape: string): boolean {
  return /^[\d;]*(3[0-8]|4[0-8]|9\d|10\d)[;m]/.test(behindEscape);
}

const summary =
  "## Goal\nMake the totals right.\n\n## Constraints & Preferences\n- none\n\n## Progress\n### Done\n- all of it\n\n## Key Decisions\n- none\n\n## Next Steps\n1. Rest.\n\n## Critical Context\n- none";
const long = {
  contextWindow: 60_000,
  turn: [1, 2, 3].flatMap((at) => [
    { calls: [{ name: "read", arguments: { path: "long.txt" } }] },
    { text: `Read it, ${at}.` },
  ]),
  summary: [{ text: summary }],
};
const longFile = { "long.txt": "A line of a file that is long enough.\n".repeat(890) };

test("a compaction that is done stands folded at the end, and a key opens it", async () => {
  const { terminal } = await openStage({ scenario: long, files: longFile, rows: 40 });
  await readThrice(terminal);
  terminal.type("/compact the totals\n");
  await terminal.until("Compacted from");
  await expectScreen(terminal, "compacted");
  terminal.press("ctrl+o");
  await terminal.until("Make the totals right");
  await expectScreen(terminal, "compacted-open");
});

test("a compaction that runs says so, and how to cancel it; Esc leaves everything as it was", async () => {
  const slow = { ...long, summary: [{ text: summary, delayMs: 60_000 }] };
  const { terminal } = await openStage({ scenario: slow, files: longFile });
  await readThrice(terminal);
  terminal.type("/compact\n");
  await terminal.until("Esc to cancel");
  terminal.type("Meanwhile\n");
  await terminal.until("Meanwhile");
  await expectScreen(terminal, "compacting");
  terminal.press("esc");
  await terminal.until((screen) => !screen.includes("Esc to cancel"));
});

async function readThrice(terminal: HeadlessTerminal): Promise<void> {
  for (const at of [1, 2, 3]) {
    terminal.type("Read it\n");
    await terminal.until(`Read it, ${at}.`);
  }
}

test("/context shows the parts of the context", async () => {
  const { terminal } = await openSample({ rows: 40 });
  terminal.type("/context\n");
  await terminal.until("free");
  await expectScreen(terminal, "context");
});

test("/tree shows every branch; a filter and a fold make it small", async () => {
  const { terminal } = await openSample({ rows: 40 });
  terminal.type("/tree\n");
  await terminal.until("Session tree");
  await expectScreen(terminal, "tree");
  terminal.press("tab");
  await terminal.until("no tools");
  terminal.press("end", "up", "left");
  await expectScreen(terminal, "tree-folded");
});

test("/resume lists the sessions of the folder, with what they are about", async () => {
  const { terminal } = await openStage({ scenario: says("It is 42."), rows: 30 });
  terminal.type("What is the answer?\n");
  await terminal.until("It is 42.");
  terminal.type("/resume\n");
  await terminal.until("Sessions");
  await terminal.until("entries");
  await expectScreen(terminal, "resume");
});

test("the first run without a model says what works now", async () => {
  const { terminal } = openInteractive({ withModel: false });
  await terminal.until("/login");
  expect(terminal.screen()).toContain("bonsai demo");
  expect(terminal.screen()).toContain("bonsai compact");
});
