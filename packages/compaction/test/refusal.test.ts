import { chars4Estimator, tokenEstimator } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import type { CompactionRequest } from "../src/flow/compaction.ts";
import { compact } from "../src/flow/compaction.ts";
import { compactionSettings, runCompaction } from "../src/index.ts";
import { scriptedSummariser, wellFormed } from "./scripted-summariser.ts";

const settings = compactionSettings({}, { estimator: "chars4" });

const recovered = (notation: string, options: Partial<CompactionRequest>) => {
  const { session } = history(notation);
  return compact({ session, settings, reason: "overflow", digest: scriptedSummariser(), ...options });
};

/** Tokens of the context by the plain estimate, which the refusal showed to be too low. */
const estimated = (session: Session) =>
  session.projection().items.reduce((sum, { message }) => sum + chars4Estimator.message(message), 0);

const GREAT_RESULT = "U:2000 A:2000 | U:100 A(t1):10 T1:9000";

test("the provider's count tells how far the estimate is too low, and what is left fits by that", async () => {
  const { tokensBefore, tokensAfter } = await recovered(GREAT_RESULT, {
    model: { contextWindow: 16_000 },
    refusal: { inputTokens: 52_000 },
  });
  // No usage supports the count: it is the aim, and the sizes stay as estimated.
  expect(tokensBefore).toBe(13_110);
  expect(tokensAfter * (52_000 / tokensBefore)).toBeLessThanOrEqual(16_000);
});

test("a refusal that nothing explains leaves half of what would fit, for the window may be smaller than believed", async () => {
  const { tokensAfter } = await recovered(GREAT_RESULT, { model: { contextWindow: 16_000 } });
  expect(tokensAfter).toBeLessThanOrEqual(13_000 / 2);
});

test("a window that nobody knows is smaller than the refused context", () =>
  everyRow([
    [undefined, 13_110 / 4],
    [13_200, 13_200],
  ])(async ([inputTokens, most]) => {
    const { status, tokensAfter } = await recovered(GREAT_RESULT, { refusal: { inputTokens } });
    expect(status).toBe("compacted");
    expect(tokensAfter).toBeLessThanOrEqual(most);
  }));

test("the user's latest request stays whole at a threshold, and a fresh result while the window can take it", async () => {
  const { session } = history("U:2000 A:2000 | U:900 A(t1):10 T1:2600");
  const { items: before } = session.projection();
  const tight = compactionSettings({ threshold: { rule: "percent", percent: 20 } }, { estimator: "chars4" });
  const { status } = await runCompaction({
    session,
    settings: tight,
    reason: "threshold",
    model: { contextWindow: 8_000 },
    digest: scriptedSummariser(),
  });
  expect(status).toBe("compacted");
  const kept = session.projection().items.map(({ message }) => message);
  expect(kept.at(-1)).toEqual(before.at(-1)?.message);
  expect(JSON.stringify(kept)).toContain(JSON.stringify(before.at(2)?.message).slice(30, 2_000));
});

test("a count that fits the window is none: who stops at a full window counts no further", async () => {
  const model = { contextWindow: 16_000 };
  const { tokensAfter } = await recovered(GREAT_RESULT, { model, refusal: { inputTokens: 15_900 } });
  expect(tokensAfter).toBeLessThanOrEqual(13_000 / 2);
});

test("an estimate of characters alone is not trusted after a refusal", async () => {
  const { session } = history("U:2000 A:2000");
  session.append({
    type: "message",
    message: { role: "user", content: "山川河流天空树木".repeat(2_000), timestamp: 0 },
  });
  const result = await runCompaction({
    session,
    settings,
    reason: "overflow",
    model: { contextWindow: 8_000 },
    digest: scriptedSummariser(),
  });
  expect(result.status).toBe("compacted");
  const left = session.projection().items.map(({ message }) => tokenEstimator.message(message));
  expect(left.reduce((sum, tokens) => sum + tokens, 0)).toBeLessThan(8_000);
});

test("cutting that does not reach the aim is tried all the same", async () => {
  const { session } = history("U:3000 A(t1 t2):10 T1:9000 T2:9000");
  const { status, tokensBefore, tokensAfter } = await recovered("", {
    session,
    model: { contextWindow: 4_096 },
    digest: scriptedSummariser([{ stopReason: "error" }]),
  });
  expect(status).toBe("masked");
  expect(estimated(session)).toBeLessThan(4_096);
  expect(tokensAfter).toBeLessThan(tokensBefore);
});

test("a summary that fitted a larger window is made anew when a smaller one overflows", async () => {
  const { session } = history("U:30000 A:30000 | U:200 A:200");
  const long = scriptedSummariser([
    (request) => ({ text: `${wellFormed(request)}\n${"- a line of it\n".repeat(700)}` }),
  ]);
  const keepingLittle = compactionSettings({ keepRecentTokens: 400 }, { estimator: "chars4" });
  const first = await runCompaction({
    session,
    settings: keepingLittle,
    summariser: long,
    model: { contextWindow: 64_000 },
  });
  expect(first.status).toBe("compacted");
  expect(first.tokensAfter).toBeGreaterThan(2_500);
  history("U:50 A:50@4200", session);
  const again = await runCompaction({
    session,
    settings,
    reason: "overflow",
    model: { contextWindow: 4_096 },
    digest: scriptedSummariser(),
  });
  expect(again.status).toBe("compacted");
  expect(estimated(session)).toBeLessThan(1_500);
  expect(again.tokensAfter).toBeLessThan(again.tokensBefore);
});

test("an unknown window and a refusal without a count: the context shrinks to an accepted size", async () => {
  const { tokensAfter } = await recovered("U:3000 A:100@6000 | U:100 A(t1):10@6200 T1:400000", {});
  expect(tokensAfter).toBeLessThanOrEqual(6_300);
});
