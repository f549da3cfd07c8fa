import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { expect, test } from "vitest";
import { says } from "../call/agent-project.ts";
import { modelSummary } from "../call/model-summary.ts";
import { longSession } from "../call/sample-session.ts";
import { openInteractive } from "./harness.ts";

const usdPerMillionTokens = { input: 20, output: 20, cacheRead: 20, cacheWrite: 20 };
/** Of one answer: two dollars. */
const usage = { input: 80_000, output: 20_000 };
const costly: Scenario = {
  ...{ contextWindow: 250_000, usdPerMillionTokens, atEnd: "repeat" },
  turn: [{ text: "Done.", usage }],
};
const summary = modelSummary();
/** Nothing comes of it before the test is over. */
const never = 3_600_000;

test("the footer knows folder, branch, model, context and cost, and keeps up", async () => {
  const { terminal, project } = openInteractive({ scenario: costly });
  await terminal.until("┄");
  expect(terminal.screen()).toContain("project");
  expect(terminal.screen()).not.toContain("$");
  expect(terminal.screen()).toMatch(/~[\d.]+k?\/250k/);
  mkdirSync(join(project.cwd, ".git"));
  writeFileSync(join(project.cwd, ".git", "HEAD"), "ref: refs/heads/apples\n");
  terminal.type("Go on\n");
  await terminal.until("$2.00");
  await terminal.until("apples");
  expect(terminal.screen()).toContain("100k/250k 40%");
  terminal.type("And again\n");
  await terminal.until("$4.00");
});

test("the footer does not count an undone compaction", async () => {
  const { terminal } = openInteractive({
    scenario: {
      ...{ contextWindow: 1_000_000, turn: [{ text: "Good." }], summary: [{ text: summary }] },
      atEnd: "repeat",
    },
    argv: ["--session", longSession()],
  });
  const before = (await terminal.until(/~?[\d.]+k\/1M \d+%/)).match(/[\d.]+k\/1M/)?.[0];
  terminal.type("/compact\n");
  await terminal.until("Compacted: ");
  await terminal.until((screen) => /~[\d.]+k\/1M/.test(screen) && !screen.includes(`${before}`));
  terminal.type("/undo\n");
  await terminal.until("Undid the compaction");
  await terminal.until(`${before}`);
});

test("the branch is up to date after the user's commands and tools", async () => {
  const change = (branch: string) => `mkdir -p .git && echo ref: refs/heads/${branch} > .git/HEAD`;
  const { terminal } = openInteractive({
    scenario: {
      contextWindow: 100_000,
      turn: [
        { calls: [{ name: "bash", arguments: { command: change("quinces") } }] },
        { text: "Late.", delayMs: never },
      ],
    },
  });
  await terminal.until("scripted");
  terminal.type(`!${change("pears")}\n`);
  await terminal.until(/ pears/);
  await terminal.until(/project {2}pears/);
  terminal.type("Go on\n");
  await terminal.until(/project {2}quinces/);
});

test("one line shows a waiting request and its time until the end, another one a queued message", async () => {
  const { terminal } = openInteractive({
    scenario: { contextWindow: 100_000, turn: [{ text: "Late.", delayMs: never }] },
  });
  await terminal.until("scripted");
  terminal.type("Go on\n");
  await terminal.until("Waiting for the model…");
  expect(terminal.screen()).toMatch(/Waiting for the model… {2}\d+ s/);
  terminal.type("Mind the tests\n");
  await terminal.until("Next: Mind the tests");
  terminal.press("escape");
  await terminal.until((screen) => !/Waiting|Next:/.test(screen));
});

test("a request that is tried again counts down, in the line and nowhere else", async () => {
  const { terminal } = openInteractive({
    scenario: {
      contextWindow: 100_000,
      turn: [{ error: { status: 529, message: "Overloaded", retryAfterMs: 50_000 } }],
    },
  });
  await terminal.until("scripted");
  terminal.type("Go on\n");
  await terminal.until("Retrying in ");
  expect(terminal.screen()).toMatch(/Retrying in \d+ s \(1\/\d+\): .*Overloaded/);
  expect(terminal.screen()).not.toContain("Retry 1 of");
});

test("a light terminal has the light theme, also in what was drawn before it answered", async () => {
  const { terminal } = openInteractive({
    ...{ scenario: says("Good."), background: "#fdf6e3", env: { NO_COLOR: "" } },
  });
  await terminal.until("scripted");
  const light = "\u001b[38;5;240m";
  await terminal.until(() => terminal.written.some((text) => text.includes(light)));
});

test("the window is called after the session, else after its folder", async () => {
  const { terminal } = openInteractive({ scenario: says("Good.") });
  await terminal.until("scripted");
  await terminal.until(() => terminal.title === "bonsai – project");
  terminal.type("/name Prune the apples\n");
  await terminal.until(() => terminal.title === "bonsai – Prune the apples");
  await terminal.until("Prune the apples");
});

test("right after a compaction the size of the context is an estimate, marked alike wherever it is shown", async () => {
  const { terminal } = openInteractive({
    scenario: {
      ...{ contextWindow: 200_000, turn: [{ text: "Good." }], summary: [{ text: summary }] },
      atEnd: "repeat",
    },
    argv: ["--session", longSession()],
  });
  await terminal.until(/\d%/);
  terminal.type("/compact\n");
  await terminal.until(/ ~[\d.]+k\/200k \d+%/);
  terminal.type("/session\n");
  await terminal.until(/context +~[\d,]+ tokens of 200,000/);
  terminal.press("escape");
  await terminal.until((screen) => !/context +~/.test(screen));
  terminal.type("/context\n");
  await terminal.until(/Context: ~[\d,]+ of 200,000 tokens/);
  terminal.press("escape");
  terminal.type("Go on\n");
  await terminal.until(/ [\d.]+k\/200k \d+%/);
});
