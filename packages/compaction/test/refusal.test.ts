import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import type { RunCompactionOptions } from "../src/compaction-options.ts";
import { compactionSettings, runCompaction } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settings = compactionSettings({ estimator: "chars4" });

const recovered = (notation: string, options: Partial<RunCompactionOptions>) => {
  const { session } = history(notation);
  return runCompaction({ session, settings, reason: "overflow", digest: scriptedSummariser(), ...options });
};

const GREAT_RESULT = "U:2000 A:2000 | U:100 A(t1):10 T1:9000";

test("the provider's count tells how far the estimate is too low, and what is left fits by that", async () => {
  const { tokensBefore, tokensAfter } = await recovered(GREAT_RESULT, {
    model: { contextWindow: 16_000 },
    refusal: { inputTokens: 52_000 },
  });
  expect(tokensBefore).toBe(52_000);
  // Four times as many as were estimated.
  expect(tokensAfter * 4).toBeLessThanOrEqual(16_000);
});

test("a refusal that nothing explains leaves half of what would fit, for the window may be smaller than believed", async () => {
  const { tokensAfter } = await recovered(GREAT_RESULT, { model: { contextWindow: 16_000 } });
  expect(tokensAfter).toBeLessThanOrEqual(13_000 / 2);
});

test.each([
  [undefined, 13_110 / 4],
  [13_200, 13_200],
])("a window that nobody knows is smaller than what was refused (told: %s)", async (inputTokens, most) => {
  const { status, tokensAfter } = await recovered(GREAT_RESULT, { refusal: { inputTokens } });
  expect(status).toBe("compacted");
  expect(tokensAfter).toBeLessThanOrEqual(most);
});

test("the user's latest request stays whole at a threshold, and a fresh result while the window can take it", async () => {
  const { session } = history("U:2000 A:2000 | U:900 A(t1):10 T1:2600");
  const { items: before } = session.projection();
  const tight = compactionSettings({ estimator: "chars4", threshold: { rule: "percent", percent: 20 } });
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
