import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { compactionSettings, runCompaction } from "../src/index.ts";

test("the user's words and the agent's answers share a digest that is too small for both", async () => {
  const findings = Array.from(
    { length: 40 },
    (_, at) =>
      `U"Look at part ${at} of the ${"long ".repeat(20)}list." A"Cause ${at}: cache_${at} is read ${at * 31} times."`,
  ).join(" | ");
  const { session } = history(`${findings} | U:40 A:900`);
  const settings = compactionSettings({ keepRecentTokens: 300 });
  const { summary = "" } = await runCompaction({ session, settings, model: { contextWindow: 8_000 } });
  expect(summary.match(/Cause \d+: cache_/g)?.length).toBeGreaterThan(3);
  expect(summary.match(/^\d+\. Look at part/gm)?.length).toBeGreaterThan(3);
});
