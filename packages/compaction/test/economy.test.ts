import type { ModelPrices } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { everyRow, history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ControllerOptions } from "../src/flow/controller.ts";
import {
  budgetsFor,
  CompactionController,
  type CompactionSettingsInput,
  compactionSettings,
  contextLimit,
  type ModelSizes,
  manifestOf,
  readContext,
} from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const prices: ModelPrices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const middling: ModelSizes = { contextWindow: 200_000, usdPerMillionTokens: prices };
const THRESHOLD = 200_000 - 16_384;
const MINUTES = 60_000;

/** A session of so many turns, each with a question, a result of 900 tokens and an answer; 5,000 tokens beside them. */
function worked(turns: number, session?: Session, from = 0): Session {
  const turn = (_: unknown, at: number) => {
    const before = 5_000 + (from + at) * 1_000;
    const id = `t${from + at}`;
    return `U:30 A(${id}=read:f${id}.ts):20@${before + 50} ${id.toUpperCase()}:900 A:50@${before + 1_000}`;
  };
  return history(Array.from({ length: turns }, turn).join(" | "), session).session;
}

interface Asked {
  settings?: CompactionSettingsInput;
  model?: ModelSizes;
  nowMs?: number;
}

function limitOf(session: Session, { settings: input, model = middling, nowMs }: Asked = {}) {
  const settings = compactionSettings({ economy: "auto", ...input }, { estimator: "chars4" });
  const reading = readContext({ session, estimator: settings.estimator });
  return contextLimit({ settings, model, budgets: budgetsFor({ settings, model }), reading, nowMs })!;
}

function controllerFor(
  session: Session,
  input: CompactionSettingsInput = {},
  options: Partial<ControllerOptions> = {},
) {
  const settings = compactionSettings(
    { economy: "auto", background: false, ...input },
    { estimator: "chars4" },
  );
  const summariser = scriptedSummariser();
  const model = () => middling;
  const now = () => latestMs(session);
  const controller = new CompactionController({ session, settings, summariser, model, now, ...options });
  return { controller, summariser, check: () => controller.checkThreshold({ site: "beforePrompt" }) };
}

function latestMs(session: Session): number {
  return session.projection().items.at(-1)!.message.timestamp!;
}

describe("the limit", () => {
  test("off: by the threshold alone", () => {
    const limit = limitOf(worked(50), { settings: { economy: "off" } });
    expect(limit).toEqual({ thresholdTokens: THRESHOLD, compactAboveTokens: THRESHOLD, isExpired: false });
  });

  test("auto: far below the threshold of a large window, and far above what is kept", () => {
    const { compactAboveTokens, size } = limitOf(worked(50));
    expect(compactAboveTokens).toBe(size?.tokens);
    expect(compactAboveTokens).toBeGreaterThan(40_000);
    expect(compactAboveTokens).toBeLessThan(80_000);
  });

  test("auto, and nothing is known of what the model costs: by the threshold", () => {
    const model = { contextWindow: 200_000 };
    expect(limitOf(worked(50), { model }).compactAboveTokens).toBe(THRESHOLD);
    const free = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
    expect(limitOf(worked(50), { model: { ...model, usdPerMillionTokens: free } }).compactAboveTokens).toBe(
      THRESHOLD,
    );
  });

  test("a size in tokens is used with prices and without", () =>
    everyRow([
      [64_000, 64_000],
      [400_000, THRESHOLD],
    ])(([economy, compactAboveTokens]) => {
      expect(limitOf(worked(50), { settings: { economy } }).compactAboveTokens).toBe(compactAboveTokens);
      expect(limitOf(worked(50), { settings: { economy }, model: { contextWindow: 200_000 } })).toMatchObject(
        { compactAboveTokens },
      );
    }));

  test("a size of somebody's choice scales what is kept; what is kept then goes before a size that is smaller still", () => {
    const kept = (economy: number, keepRecentTokens = 20_000) => {
      const settings = compactionSettings({ economy, keepRecentTokens }, { scaleBudgets: false });
      return budgetsFor({ settings, model: middling }).keepTokens;
    };
    expect([kept(100_000), kept(40_000), kept(40_000, 9_000), kept(1_000)]).toEqual([
      20_000, 14_000, 9_000, 4_096,
    ]);
    const { compactAboveTokens } = limitOf(worked(50), { settings: { economy: 1_000 } });
    expect(compactAboveTokens).toBeGreaterThan(5_000 + 4_096);
    expect(compactAboveTokens).toBeLessThan(25_000);
  });

  test("results that the model has not seen go before it too", () => {
    const { session } = history("A(t1):10 T1:90000", worked(30));
    expect(limitOf(session).compactAboveTokens).toBeGreaterThan(90_000);
  });

  test("a long running turn raises the limit only to twice the kept tokens", () => {
    const steps = Array.from({ length: 100 }, (_, at) => `A(s${at}):20 T(s${at}):980`).join(" ");
    const { session } = history(`U:30 ${steps} A:10`, worked(5));
    const { compactAboveTokens } = limitOf(session);
    expect(compactAboveTokens).toBeGreaterThan(40_000);
    expect(compactAboveTokens).toBeLessThan(80_000);
  });

  test("a fast growth is learned from the session, and makes it larger", () => {
    const fast = history(
      Array.from({ length: 12 }, (_, at) => `U:10 A:9000@${10_000 + at * 9_000}`).join(" | "),
    ).session;
    expect(limitOf(fast).compactAboveTokens).toBeGreaterThan(limitOf(worked(50)).compactAboveTokens + 10_000);
  });

  test("a small window has its threshold below all of that", () => {
    const model = { ...middling, contextWindow: 32_000 };
    const { compactAboveTokens, thresholdTokens } = limitOf(worked(10), { model });
    expect(compactAboveTokens).toBeLessThanOrEqual(thresholdTokens);
  });

  test("is lower once the provider has forgotten the prefix, by the model's own rules", () => {
    const session = worked(50);
    const at = (minutes: number) => ({ nowMs: latestMs(session) + minutes * MINUTES });
    const kept = limitOf(session, at(4));
    const expired = limitOf(session, at(6));
    expect(kept.isExpired).toBe(false);
    expect(expired.isExpired).toBe(true);
    expect(expired.compactAboveTokens).toBeLessThan(kept.compactAboveTokens);
    const model = { ...middling, cacheRules: { minimumTokens: 1_024, keptMs: 60 * MINUTES } };
    expect(limitOf(session, { model, ...at(6) }).isExpired).toBe(false);
    expect(limitOf(session, { settings: { economy: "off" }, ...at(6) }).compactAboveTokens).toBe(THRESHOLD);
  });

  test("Invariant: it is never above the threshold, and right after a compaction the context is below it", async () => {
    await fc.assert(
      fc.asyncProperty(
        treeArbitrary({ own: true }),
        fc.oneof(fc.constant("auto" as const), fc.integer({ min: 1, max: 300_000 })),
        fc.integer({ min: 4_000, max: 300_000 }),
        async (notation, economy, contextWindow) => {
          const { session } = history(notation);
          const model = { ...middling, contextWindow };
          const settings = { economy, mask: { minimumTokens: 100 }, keepRecentTokens: 500 };
          const { compactAboveTokens, thresholdTokens } = limitOf(session, { model, settings });
          expect(compactAboveTokens).toBeLessThanOrEqual(thresholdTokens);
          const { controller } = controllerFor(session, settings, { model: () => model });
          const { status } = await controller.compact();
          if (status !== "compacted") return;
          const { tokens } = readContext({
            session,
            estimator: compactionSettings({}, { estimator: "chars4" }).estimator,
          });
          const after = limitOf(session, { model, settings });
          if (tokens > thresholdTokens) return;
          expect(tokens).toBeLessThanOrEqual(after.compactAboveTokens);
        },
      ),
    );
  });
});

describe("a compaction by it", () => {
  test("comes above the working size, far below the threshold, and not again at once", async () => {
    const session = worked(40);
    const { check } = controllerFor(session);
    expect((await check()).status).toBe("skipped");
    worked(20, session, 40);
    const outcome = await check();
    expect(outcome).toMatchObject({ status: "compacted", reason: "threshold" });
    expect(outcome.detail).toContain("before the threshold because of compaction.economy");
    const { controller, check: checkAgain } = controllerFor(session);
    history("U:30 A:20", session);
    controller.userMessageArrived();
    expect((await checkAgain()).status).toBe("skipped");
  });

  test("with a size of one's own, comes there", async () => {
    const session = worked(45);
    expect((await controllerFor(session, { economy: 60_000 }).check()).status).toBe("skipped");
    expect((await controllerFor(session, { economy: 48_000 }).check()).status).toBe("compacted");
  });

  test("comes sooner where the cache has expired", async () => {
    const session = worked(38);
    const later = () => latestMs(session) + 6 * MINUTES;
    expect((await controllerFor(session).check()).status).toBe("skipped");
    expect((await controllerFor(session, {}, { now: later }).check()).status).toBe("compacted");
  });

  test("comes sooner where another model answers next, which has nothing of the prefix", async () => {
    const session = worked(38);
    const { controller, check } = controllerFor(session);
    controller.modelChanged();
    controller.answerArrived();
    expect((await check()).status).toBe("skipped");
    controller.modelChanged();
    expect((await check()).status).toBe("compacted");
  });

  test("says in its record that it was made for the economy; one at the threshold does not", async () => {
    const records = [60, 190].map(async (turns) => {
      const session = worked(turns);
      expect((await controllerFor(session).check()).status).toBe("compacted");
      return manifestOf(session.projection().compaction);
    });
    expect((await Promise.all(records)).map((record) => record?.isEconomic)).toEqual([true, undefined]);
  });

  test("cuts nothing that is kept: what does not fit the working size alone stays whole", async () => {
    const session = worked(60);
    history("U:30 A(big1 big2):20 T(big1):15000 T(big2):15000 A:10@97000", session);
    const { check } = controllerFor(session, { economy: 30_000, mask: { enabled: false } });
    const outcome = await check();
    expect(outcome).toMatchObject({ status: "compacted", steps: { shortened: 0, withoutMedia: 0 } });
  });

  test("leaves the task its compaction at the threshold after the user cancels one", async () => {
    const session = worked(70);
    const { controller, summariser } = controllerFor(session);
    const cancelled = await controller.checkThreshold({ site: "betweenTools", signal: AbortSignal.abort() });
    expect(cancelled.status).toBe("cancelled");
    controller.answerArrived();
    expect((await controller.checkThreshold({ site: "betweenTools" })).detail).toContain("cancelled");
    history(`U:30 A:100@${THRESHOLD + 1}`, session);
    controller.answerArrived();
    expect((await controller.checkThreshold({ site: "betweenTools" })).status).toBe("compacted");
    expect(summariser.requests.length).toBeGreaterThan(0);
  });

  test("is reported once after a failure, and tried again at the threshold", async () => {
    const session = worked(70);
    const failure = { stopReason: "error" as const, errorMessage: "down" };
    const warnings: string[] = [];
    const { controller } = controllerFor(
      session,
      { summarizer: { fallback: "never" } },
      { summariser: scriptedSummariser([failure]), onWarning: ({ code }) => warnings.push(code) },
    );
    const check = () => {
      controller.answerArrived();
      return controller.checkThreshold({ site: "betweenTools" });
    };
    expect((await check()).status).toBe("failed");
    expect((await check()).status).toBe("skipped");
    expect(warnings).toHaveLength(1);
    history(`U:30 A:100@${THRESHOLD + 1}`, session);
    expect((await check()).status).toBe("compacted");
  });
});

test("a wrong economy is refused with the allowed values", () =>
  everyRow([
    ["sometimes", '"sometimes", but must be one of "off", "auto", or '],
    [true, 'true, but must be one of "off", "auto", or '],
    [0, "0, but must be a number of at least 1"],
  ])(([economy, text]) => {
    expect(() => compactionSettings({ economy })).toThrow(`The setting compaction.economy is ${text}`);
  }));
