import { emptyUsage } from "@bonsai-agent/messages";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { type CompactionSettings, compactionSettings, manifestOf, runCompaction } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settings = compactionSettings({ keepRecentTokens: 200 }, { estimator: "chars4" });
const LONG = "U:4000 A:4000 | U:4000 A:4000 | U:100 A:100";

test("refused answers and requests that fail are counted, and what they cost", async () => {
  const { session } = history(LONG);
  const never: CompactionSettings = { ...settings, summarizer: { kind: "auto", fallback: "never" } };
  const summariser = scriptedSummariser([{ text: "" }]);
  const refused = await runCompaction({ session, settings, summariser });
  expect(refused).toMatchObject({ rung: "digest", requests: 1, costUsd: 0.01 });
  expect(refused.entry?.usage?.cost.total).toBe(0.01);

  const other = history(LONG).session;
  const failing = scriptedSummariser([new Error("no connection")]);
  const failed = await runCompaction({ session: other, settings: never, summariser: failing });
  expect(failed).toMatchObject({ status: "failed", requests: 1, costUsd: null });
});

test.each([
  ["of a free model cost nothing", true, 0],
  ["of a model without a price have an unknown cost, and the record has none", undefined, null],
])("requests %s", async (_, isFree, costUsd) => {
  const { session } = history(LONG);
  const usage = { ...emptyUsage(), input: 100, output: 10 };
  const summariser = { ...scriptedSummariser([{ usage }]), isFree };
  const result = await runCompaction({ session, settings, summariser });
  expect(result).toMatchObject({ status: "compacted", requests: 1, costUsd });
  expect(manifestOf(result.entry)?.costUsd).toBe(costUsd ?? undefined);
});

test("chunks are counted one by one, the request that was too long included", async () => {
  const { session } = history(LONG);
  const tooLong = { stopReason: "error" as const, errorMessage: "prompt is too long", overflow: true };
  const summariser = scriptedSummariser([tooLong]);
  const result = await runCompaction({ session, settings, summariser });
  expect(result).toMatchObject({ rung: "chunks", requests: summariser.requests.length });
  expect(summariser.requests.length).toBeGreaterThan(2);
  expect(result.costUsd).toBeCloseTo(0.01 * summariser.requests.length);
});

test("a digest costs nothing, and in a small window it takes no more than its share", async () => {
  const { session } = history(LONG);
  const result = await runCompaction({ session, settings, model: { contextWindow: 8_192 } });
  expect(result).toMatchObject({ rung: "digest", requests: 0, costUsd: 0 });
  expect(result.tokensAfter).toBeLessThan(8_192 / 4 + 300);
});

test("success is qualified where what is left does not fit the window", async () => {
  const { session } = history("U:4000 A:4000 | U:10 A:3000");
  const result = await runCompaction({ session, settings, model: { contextWindow: 3_000 } });
  expect(result.detail).toContain("the model's window is 3,000");
});

test("a summary of headings alone is refused", () =>
  everyRow(["manual", "overflow"] as const)(async (reason) => {
    const { session } = history("U:900 A:900 | U:100 A:100");
    const empty = {
      text: "## Goal\n(none)\n\n## Constraints & Preferences\n(none)\n\n## Progress\n### Done\n(none)\n\n## Key Decisions\n- (none)\n\n## Next Steps\n",
    };
    const digest = scriptedSummariser([empty]);
    const { status, failures } = await runCompaction({ session, settings, digest, reason });
    expect(status).toBe("failed");
    expect(failures).toEqual([expect.objectContaining({ rung: "digest", message: "The summary is empty." })]);
  }));
