import { openSession } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { coldRequestUsd } from "../../src/interactive/session/cold-resume.ts";
import { nowMs } from "../call/agent-project.ts";
import { modelSummary } from "../call/model-summary.ts";
import { writeLines } from "../call/sample-session.ts";
import { openInteractive } from "./harness.ts";
import { answer, at, user } from "./tree-panel-setup.ts";

const prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const HOUR = 3_600_000;

/** A session of about 100,000 tokens, whose latest answer is so old. */
function longSession(ageMs: number): string {
  const header = { type: "session", version: 3, id: "cold", timestamp: at, cwd: "/home/dev/shop" };
  const last = answer("aaaa0004", "aaaa0003", "the only answer") as { message: object };
  const usage = { input: 100, cacheRead: 100_000, cacheWrite: 0, output: 10, totalTokens: 100_110 };
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  return writeLines([
    header,
    user("aaaa0001", null, `Read this: ${"some words to read ".repeat(22_000)}`),
    answer("aaaa0002", "aaaa0001", "I read it."),
    user("aaaa0003", "aaaa0002", "Go on."),
    { ...last, message: { ...last.message, usage: { ...usage, cost }, timestamp: nowMs - ageMs } },
  ]);
}

function resume(ageMs: number) {
  const scenario = {
    contextWindow: 200_000,
    usdPerMillionTokens: prices,
    turn: [{ text: "Here I am." }],
    summary: [{ text: modelSummary("- the words were read") }],
    atEnd: "repeat" as const,
  };
  return openInteractive({ columns: 110, rows: 32, scenario, argv: ["--session", longSession(ageMs)] });
}

test("a long session without a cache shows the cost of its next request, and compacts first on request", async () => {
  const { terminal } = resume(HOUR);
  const screen = await terminal.until("the provider's cache has expired");
  expect(screen.replaceAll(/\s+/g, " ")).toMatch(/The next request costs about \$0\.3[78]/);
  terminal.press("down", "down");
  await terminal.until(/› Compact first with the built-in digest/);
  terminal.press("enter");
  await terminal.until("[compaction]");
});

test("a session that is still cached asks nothing", async () => {
  const { terminal } = resume(60_000);
  await terminal.until("the only answer");
  terminal.type("Are you there?\n");
  expect(await terminal.until("Here I am.")).not.toContain("has expired");
});

test.each([
  ["without prices", { usdPerMillionTokens: undefined }, undefined],
  [
    "with a longer lifetime of the cache",
    { cacheRules: { minimumTokens: 1_024, keptMs: 2 * HOUR } },
    undefined,
  ],
  ["without a price of writing", { usdPerMillionTokens: { ...prices, cacheWrite: 0 } }, 0.3],
  ["with all prices", {}, 0.375],
])("the first request of a model %s", (_title, change, usd) => {
  const session = openSession(longSession(HOUR));
  const model = { usdPerMillionTokens: prices, ...change };
  const found = coldRequestUsd(session, { tokens: 100_000, model, nowMs });
  if (usd === undefined) expect(found).toBeUndefined();
  else expect(found).toBeCloseTo(usd);
});
