import { chars4Estimator } from "@bonsai-agent/messages";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import {
  budgetsFor,
  CompactionController,
  type CompactionSettingsInput,
  compactionSettings,
  type ModelSizes,
  readContext,
  thresholdTokens,
} from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

function controllerFor(notation: string, model: ModelSizes, input: CompactionSettingsInput = {}) {
  const { session } = history(notation);
  const summariser = scriptedSummariser();
  const settings = compactionSettings(input, { estimator: "chars4" });
  return {
    session,
    summariser,
    controller: new CompactionController({ session, settings, summariser, model: () => model }),
  };
}

test("case 12: a usage older than the latest compaction is not trusted, the figure is an estimate", () => {
  const { session } = history("U:100 A:100@190000 | U:100 A:100 C(u2) U:50");
  const summaryTokens = chars4Estimator.message(session.projection().items[0]!.message);
  expect(readContext({ session, estimator: "chars4" })).toMatchObject({
    source: "estimate",
    tokens: summaryTokens + 250,
  });
});

test("case 12: a usage older than a mask is not trusted", () => {
  const { session } = history("U:10 A(t1)@9000 T1:100 M(t1)");
  expect(readContext({ session, estimator: "chars4" }).source).toBe("estimate");
});

test("case 13: after a 190k usage come only 529 errors: the threshold compaction still runs", async () => {
  const { controller } = controllerFor("U:30000 A:30000@190000 | U:10 A~error A~error A~error", {
    contextWindow: 200_000,
  });
  expect(await controller.checkThreshold({ site: "beforePrompt" })).toMatchObject({
    status: "compacted",
    reason: "threshold",
  });
});

test("case 14: exactly window - reserve is no reason to compact; one token more is", async () => {
  const sizes = { contextWindow: 200_000 };
  const limit = 200_000 - 16_384;
  const at = controllerFor(`U:30000 A:30000@${limit}`, sizes);
  expect(await at.controller.checkThreshold({ site: "beforePrompt" })).toMatchObject({
    status: "skipped",
    detail: "The context is below the threshold.",
  });
  expect(at.summariser.requests).toEqual([]);
  const above = controllerFor(`U:30000 A:30000@${limit + 1}`, sizes);
  expect((await above.controller.checkThreshold({ site: "beforePrompt" })).status).toBe("compacted");
});

test("case 15: preset klaude takes its reserve and its kept tokens from the window", () =>
  everyRow([
    [4_000, 2_048, 1_952],
    [8_000, 2_048, 4_096],
    [30_000, 7_500, 10_500],
    [200_000, 16_384, 20_000],
  ])(([contextWindow, reserveTokens, keepTokens]) => {
    const settings = compactionSettings({ preset: "klaude" });
    expect(budgetsFor({ settings, model: { contextWindow } })).toMatchObject({ reserveTokens, keepTokens });
  }));

test("preset klaude keeps a quarter on manual, within its bounds; tunacode keeps nothing", () => {
  const manual = (preset: "klaude" | "tunacode", contextWindow: number) =>
    budgetsFor({ settings: compactionSettings({ preset }), model: { contextWindow }, reason: "manual" })
      .keepTokens;
  expect([manual("klaude", 200_000), manual("klaude", 8_000), manual("klaude", 4_000)]).toEqual([
    5_000, 2_048, 1_952,
  ]);
  expect(manual("tunacode", 200_000)).toBe(0);
});

test("case 16: an unknown window has no threshold, but an overflow compacts", () =>
  everyRow([0, undefined])(async (contextWindow) => {
    const model = contextWindow === undefined ? {} : { contextWindow };
    const { controller } = controllerFor("U:90000 A:90000 | U:100 A:100", model);
    expect(await controller.checkThreshold({ site: "beforePrompt" })).toMatchObject({
      status: "skipped",
      detail: "The model's context window is unknown.",
    });
    expect((await controller.recoverFromOverflow()).status).toBe("compacted");
  }));

test("each threshold rule has its own limit", () =>
  everyRow([
    ["reserve", {}, 183_616],
    ["percent", {}, 184_000],
    ["outputLimit", {}, 168_000],
    ["reservePlusKeep", {}, 163_616],
    ["effectiveWindow", {}, 151_615],
  ] as const)(([rule, extra, limit]) => {
    const settings = compactionSettings({ threshold: { rule }, ...extra });
    const budgets = budgetsFor({ settings, model: { contextWindow: 200_000, maxOutputTokens: 64_000 } });
    expect(thresholdTokens(settings, budgets)).toBe(limit);
  }));

test("a wrong setting is refused with its key, its value and the allowed values", () =>
  everyRow([
    [
      { threshold: { rule: "sometimes" } },
      'compaction.threshold.rule is "sometimes", but must be',
      '"percent"',
    ],
    [{ keepRecentTokens: "many" }, 'compaction.keepRecentTokens is "many", but must be', "number"],
    [{ mask: { protectTokens: -1 } }, "compaction.mask.protectTokens is -1, but must be", "at least 0"],
    [{ mask: { colour: 1 } }, "compaction.mask.colour is unknown. Known keys:", "protectTokens"],
    [{ preset: "best" }, 'compaction.preset is "best", but must be', '"opencode"'],
    ["yes", 'compaction is "yes", but must be', "object"],
  ])(([input, problem, allowed]) => {
    const fault = () => compactionSettings(input);
    expect(fault).toThrow(expect.objectContaining({ code: "compaction_setting_invalid" }));
    expect(fault).toThrow(`The setting ${problem}`);
    expect(fault).toThrow(allowed);
  }));
