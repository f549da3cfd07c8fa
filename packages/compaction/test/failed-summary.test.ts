import { everyRow, history } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import {
  CompactionController,
  type CompactionSettingsInput,
  compactionSettings,
  type SummaryAnswer,
  type SummaryRequest,
} from "../src/index.ts";
import { scriptedSummariser, wellFormed } from "./scripted-summariser.ts";

/** Two of them are above the threshold, and are cut between them: one request. */
const LONG = "U:30000 A:10";
const MINUTE = 60_000;
type Answer = Parameters<typeof scriptedSummariser>[0];
const broken = { stopReason: "error" as const, errorMessage: "the model is down" };
const works = {};

interface Setup {
  settings?: CompactionSettingsInput;
  notation?: string;
}

/** A session above its threshold, a summariser by script, and a clock that stands still. */
function failing(answers: Answer, { settings = {}, notation = LONG }: Setup = {}) {
  const { session } = history(notation);
  const summariser = scriptedSummariser(answers);
  const time = { ms: 1_700_000_000_000 };
  const warnings: string[] = [];
  const controller = new CompactionController({
    session,
    settings: compactionSettings(settings, { estimator: "chars4" }),
    model: () => ({ contextWindow: 60_000 }),
    summariser,
    now: () => time.ms,
    onWarning: ({ code }) => warnings.push(code),
  });
  /** The next task; so many requests lie between two that the compactions are not too close to each other. */
  const next = (signal?: AbortSignal) => {
    controller.userMessageArrived();
    for (let request = 0; request < 4; request++) controller.answerArrived();
    history(LONG, session);
    return controller.checkThreshold({ site: "betweenTools", ...(signal && { signal }) });
  };
  const pass = (minutes: number) => {
    time.ms += minutes * MINUTE;
  };
  return { session, controller, summariser, next, pass, warnings };
}

describe("a model's summary that failed", () => {
  test("is remembered: the next compaction goes to the digest at once and says so", async () => {
    const { summariser, next, pass, warnings } = failing([broken]);
    const first = await next();
    expect(first.status).toBe("compacted");
    expect(first.detail).toContain(
      "Used the built-in digest because the model's summary failed: the model is down.",
    );
    expect(first.detail).not.toContain("minute");
    pass(3);
    const second = await next();
    expect(second.status).toBe("compacted");
    expect(second.detail).toMatch(
      / The model's summary failed 3 minutes ago\. Bonsai asks the model again in 7 minutes, after you run \/compact, or after you change the model\.$/,
    );
    expect(summariser.requests).toHaveLength(1);
    expect(warnings).toEqual([]);
  });

  test("the notice says how long ago a summary failed and when the model is asked again", () =>
    everyRow([
      [0.5, "less than a minute ago", "in 10 minutes"],
      [1, "1 minute ago", "in 9 minutes"],
      [9.5, "9 minutes ago", "in 1 minute,"],
    ])(async ([minutes, ago, left]) => {
      const { next, pass } = failing([broken]);
      await next();
      pass(minutes);
      const { detail } = await next();
      expect(detail).toContain(`failed ${ago}.`);
      expect(detail).toContain(left);
    }));

  test.each([
    ["ten minutes later", ({ pass }: ReturnType<typeof failing>) => pass(10)],
    ["when the clock was set back", ({ pass }) => pass(-1)],
    ["with another model", ({ controller }) => controller.modelChanged()],
    ["with another summariser", ({ summariser }) => Object.assign(summariser, { name: "another" })],
  ])("is forgotten %s", async (_, change) => {
    const setup = failing([broken]);
    await setup.next();
    change(setup);
    const { detail } = await setup.next();
    expect(detail).not.toContain("failed");
    expect(setup.summariser.requests).toHaveLength(2);
  });

  test("pauses for ten minutes more after a second failure", async () => {
    const { summariser, next, pass } = failing([broken, broken]);
    await next();
    pass(10);
    await next();
    pass(9);
    expect((await next()).detail).toContain("failed 9 minutes ago");
    expect(summariser.requests).toHaveLength(2);
  });

  test("is asked again by the user, whose success ends it, and whose failure is one more", async () => {
    const { controller, summariser, session, next } = failing([broken, broken, works]);
    await next();
    history(LONG, session);
    expect((await controller.compact()).detail).toContain(
      "Used the built-in digest because the model's summary failed: the model is down.",
    );
    expect((await next()).detail).toContain("failed less than a minute ago");
    history(LONG, session);
    expect((await controller.compact()).detail).not.toContain("failed");
    expect((await next()).detail).not.toContain("failed");
    expect(summariser.requests).toHaveLength(4);
  });

  test("is not asked again where a program asks for a compaction, and no person", async () => {
    const { controller, summariser, session, next } = failing([broken]);
    await next();
    history(LONG, session);
    const outcome = await controller.compact({ ignoresRecentFailure: false });
    expect(outcome).toMatchObject({ status: "compacted", reason: "manual" });
    expect(outcome.detail).toContain("The model's summary failed less than a minute ago.");
    expect(summariser.requests).toHaveLength(1);
  });

  test("lets an overflow go to the digest at once too", async () => {
    const { controller, summariser, session, next } = failing([broken]);
    await next();
    history(LONG, session);
    const outcome = await controller.recoverFromOverflow();
    expect(outcome).toMatchObject({ status: "compacted", reason: "overflow" });
    expect(outcome.detail).toContain("The model's summary failed");
    expect(summariser.requests).toHaveLength(1);
  });

  test("is that of the model that was asked, though another is chosen meanwhile", async () => {
    const { controller, summariser, next } = failing([
      () => {
        Object.assign(summariser, { name: "another" });
        controller.modelChanged();
        return broken;
      },
    ]);
    await next();
    expect((await next()).detail).not.toContain("failed");
    expect(summariser.requests).toHaveLength(2);
  });

  test("a threshold asks a model that failed if no digest may replace its summary", () =>
    everyRow(["overflow", "never"] as const)(async (fallback) => {
      const { summariser, next } = failing([broken], { settings: { summarizer: { fallback } } });
      expect(await next()).toMatchObject({ status: "failed", digestIsUntried: true });
      expect((await next()).status).toBe("compacted");
      expect(summariser.requests).toHaveLength(2);
    }));
});

describe("failures", () => {
  test.each<[string, Partial<SummaryAnswer> | Error]>([
    ["an error", broken],
    ["a lost connection", new Error("socket hang up")],
    ["no answer", { text: "" }],
    ["a refusal", { text: "I'm sorry, I can't help with that." }],
    ["a call", { stopReason: "toolUse" }],
    ["half an answer", { stopReason: "length" }],
    ["an answer that the provider broke off", { stopReason: "aborted" }],
    ["an answer without sections", { text: "Sure, I'll do it." }],
    ["headings alone", { text: wellFormed({ kind: "history" }).replaceAll(/^[^#].*$/gm, "(none)") }],
    [
      "far more than was asked for",
      { text: `${wellFormed({ kind: "history" })}\n${"more ".repeat(40_000)}` },
    ],
  ])("%s", async (_, answer) => {
    const { summariser, next } = failing([answer]);
    await next();
    await next();
    expect(summariser.requests).toHaveLength(1);
  });

  test("not a compaction that the user cancelled", async () => {
    const stop = new AbortController();
    const { summariser, next } = failing([
      () => {
        stop.abort();
        return broken;
      },
    ]);
    expect((await next(stop.signal)).status).toBe("cancelled");
    expect((await next()).detail).not.toContain("failed");
    expect(summariser.requests).toHaveLength(2);
  });

  test("not a sound summary of a span that was too short to shrink", async () => {
    const long = ({ kind }: SummaryRequest) => ({
      text: `${wellFormed({ kind })}\n${"words ".repeat(1_400)}`,
    });
    const { controller, summariser, next } = failing([long], {
      notation: "U:600 A:600 | U:300 A:300",
      settings: { keepRecentTokens: 600 },
    });
    await controller.compact();
    expect(summariser.requests).toHaveLength(1);
    expect((await next()).detail).not.toContain("failed");
  });

  test("not one request that was too long, where several shorter ones brought the summary", async () => {
    const tooLong = { ...broken, overflow: true };
    const { summariser, next } = failing([tooLong]);
    await next();
    const asked = summariser.requests.length;
    expect((await next()).detail).not.toContain("failed");
    expect(summariser.requests.length).toBeGreaterThan(asked);
  });

  test("not a span that no request could hold", async () => {
    const { summariser, next } = failing([]);
    Object.assign(summariser, { contextWindow: 300 });
    expect((await next()).status).toBe("compacted");
    Object.assign(summariser, { contextWindow: undefined });
    expect((await next()).detail).not.toContain("failed");
    expect(summariser.requests.length).toBeGreaterThan(0);
  });
});

test("the digest that somebody asked for asks no model, whatever the settings say", async () => {
  const { session, controller, summariser, next } = failing([], {
    settings: { summarizer: { fallback: "never" } },
  });
  const outcome = await controller.compact({ useDigest: true, focus: "the door" });
  expect(outcome).toMatchObject({ status: "compacted", reason: "manual" });
  expect(outcome.detail).not.toContain("failed");
  expect(summariser.requests).toEqual([]);
  expect(session.projection().compaction?.details).toMatchObject({
    manifest: { rung: "digest", requests: 0 },
  });
  history(LONG, session);
  await next();
  expect(summariser.requests).toHaveLength(1);
});
