import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import {
  budgetsFor,
  compactionSettings,
  contextLimit,
  readContext,
  settingsForModel,
  thresholdTokens,
} from "../src/index.ts";

const model = { provider: "box", id: "coder", contextWindow: 100_000, maxOutputTokens: 8_000 };

function limitOf(input: object, own: object = model) {
  const settings = compactionSettings(input);
  const reading = readContext({ session: history("U A").session, estimator: "chars4" });
  const budgets = budgetsFor({ settings, model: own });
  return {
    thresholdTokens: contextLimit({ settings, model: own, budgets, reading })?.thresholdTokens,
    compactAboveTokens: contextLimit({ settings, model: own, budgets, reading })?.compactAboveTokens,
    keepTokens: budgets.keepTokens,
  };
}

test('the rule "size" compacts above a size, or at the reserve of a smaller window', () => {
  const threshold = { rule: "size", sizeTokens: 60_000 } as const;
  expect(limitOf({ threshold }).thresholdTokens).toBe(60_000);
  expect(limitOf({ threshold }, { contextWindow: 40_000 }).thresholdTokens).toBe(30_000);
});

test("a model's own settings override those of all models, and settings override models.json", () => {
  const compaction = {
    threshold: { rule: "percent" as const, percent: 50 },
    economy: 30_000,
    keepRecentTokens: 7_000,
  };
  const own = { ...model, compaction };
  expect(limitOf({ keepRecentTokens: 9_000 }, own)).toEqual({
    thresholdTokens: 50_000,
    compactAboveTokens: 30_000,
    keepTokens: 7_000,
  });
  const models = { "box/*": { threshold: { percent: 80 }, economy: "off" as const } };
  expect(limitOf({ models }, own)).toEqual({
    thresholdTokens: 80_000,
    compactAboveTokens: 80_000,
    keepTokens: 7_000,
  });
});

test("later patterns override earlier ones, and others do not match", () => {
  const models = {
    "*": { keepRecentTokens: 9_000 },
    "box/cod*": { keepRecentTokens: 8_000 },
    "box.coder": { keepRecentTokens: 5_000 },
    cod: { keepRecentTokens: 4_500 },
  };
  expect(limitOf({ models }).keepTokens).toBe(8_000);
  expect(limitOf({ models }, { ...model, id: "other" }).keepTokens).toBe(9_000);
});

test("a preset keeps its rule for models without settings of their own", () => {
  const settings = compactionSettings({
    preset: "opencode",
    models: { "box/*": { threshold: { rule: "reserve" } } },
  });
  const limit = (own: typeof model) =>
    thresholdTokens(settingsForModel(settings, own), budgetsFor({ settings, model: own }));
  expect([limit(model), limit({ ...model, id: "x", provider: "y" })]).toEqual([83_616, 92_000]);
});
