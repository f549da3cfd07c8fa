import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import {
  type CompactionSettingsInput,
  compactionSettings,
  planCompaction,
  runCompaction,
} from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settingsFor = (input: CompactionSettingsInput = {}) =>
  compactionSettings(input, { estimator: "chars4" });
const PLACEHOLDER_TOKENS = 9;

function masked(notation: string, mask: CompactionSettingsInput["mask"] = {}): string[] {
  const { session, name } = history(notation);
  const model = { contextWindow: 80_000 };
  const settings = settingsFor({ mask });
  return planCompaction({ session, settings, model, reason: "threshold" }).maskedEntryIds.map(name);
}

test("results are masked only beyond the newest 40,000 tokens", () =>
  everyRow([
    [25_000, []],
    [25_001, ["t1"]],
  ])(([newest, expected]) => {
    const notation = `U:10 A(t1):10 T1:15000 A:10 | U:10 A(t2):10 T2:15000 A(t3):10 T3:${newest} U:22000 A:10`;
    const beyond = masked(notation, { minimumTokens: 10_000 });
    expect(beyond).toEqual(["t1", ...expected.map(() => "t2")]);
  }));

test("results are masked only if that frees 20,000 tokens", () =>
  everyRow([
    [20_000 + PLACEHOLDER_TOKENS, ["t1"]],
    [20_000 + PLACEHOLDER_TOKENS - 1, []],
  ])(([oldest, expected]) => {
    expect(masked(`U:10 A(t1):10 T1:${oldest} A:10 | U:10 A(t2):10 T2:40000 U:8000 A:10`)).toEqual(expected);
  }));

test("a result that is no larger than its placeholder is not masked", () => {
  const notation = "U:10 A(t1 t2):10 T1:30000 T2:9 A:10 | U:10 A(t3):10 T3:40000 A:10";
  expect(masked(notation)).toEqual(["t1"]);
});

test.each([
  [0, "masked"],
  [1, "compacted"],
])("a mask that leaves the context %i tokens above the limit: %s", async (excess, status) => {
  // The tokens after the mask: 10 + 10 + 9 + 10, 40,000 and the second request.
  const limit = 80_000 - 16_384;
  const rest = limit - (10 + 10 + PLACEHOLDER_TOKENS + 10) - (10 + 40_000 + 10) + excess;
  const { session } = history(`U:10 A(t1):10 T1:30000 A:10 | U:${rest} A(t2):10 T2:40000 A:10`);
  const model = { contextWindow: 80_000 };
  const summariser = scriptedSummariser();
  const result = await runCompaction({
    session,
    settings: settingsFor(),
    model,
    summariser,
    reason: "threshold",
  });
  expect(result.status).toBe(status);
});
