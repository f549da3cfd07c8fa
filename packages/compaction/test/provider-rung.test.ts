import { emptyUsage, type ProviderSummary } from "@bonsai-agent/messages";
import { type CompactionEntry, storedProviderSummary } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { lossLines, manifestOf, planCompaction, runCompaction } from "../src/index.ts";
import { type ProviderCompaction, type ProviderRequest, SummaryFailure } from "../src/summariser.ts";
import { controllerFor, LONG, model, settingsFor } from "./ladder-controller.ts";
import { long, onFile, prose, scripted, model as small } from "./reviewed.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settings = settingsFor({ summarizer: { kind: "provider" } });

const summary: ProviderSummary = {
  ...{ api: "anthropic-messages", provider: "anthropic", model: "claude", tokens: 50 },
  items: [{ type: "compaction", content: prose }],
};
const sealed: ProviderSummary = { ...summary, items: [{ type: "compaction" }], isSealed: true };

/** A summariser with a provider that plays these outcomes in order, then compacts. */
function withProvider(outcomes: SummaryFailure[] = [], options: Partial<ProviderCompaction> = {}) {
  const asked: ProviderRequest[] = [];
  const isSealed = options.isSealed ?? false;
  const provider: ProviderCompaction = {
    ...{ unavailable: undefined, isSealed },
    async compact(request) {
      asked.push(request);
      const failure = outcomes[asked.length - 1];
      if (failure !== undefined) throw failure;
      const usage = { ...emptyUsage(), input: 40, cost: { ...emptyUsage().cost, total: 0.02 } };
      return { summary: isSealed ? sealed : summary, text: isSealed ? undefined : prose, usage };
    },
    ...options,
  };
  return { asked, summariser: scriptedSummariser([], { name: "m", provider }) };
}

test("stores the provider's items as they came, beside readable prose", async () => {
  for (const isSealed of [false, true]) {
    const { session } = history(LONG);
    const { summariser } = withProvider([], { isSealed });
    const result = await runCompaction({ session, settings, summariser, model });
    expect(result).toMatchObject({
      status: "compacted",
      rung: "provider",
      requests: 1,
      provider: { isSealed },
    });
    expect(storedProviderSummary(result.entry!)?.items).toEqual((isSealed ? sealed : summary).items);
    expect(result.summary!.includes("first history")).toBe(!isSealed);
    expect(summariser.requests).toEqual([]);
    expect(result.entry?.usage?.input).toBe(40);
  }
});

test("the other kinds never ask the provider", async () => {
  for (const kind of ["auto", "text", "cached", "digest"] as const) {
    const { session } = history(LONG);
    const { summariser, asked } = withProvider();
    const others = settingsFor({ summarizer: { kind } });
    expect(await runCompaction({ session, settings: others, summariser, model })).toMatchObject({
      rung: kind === "digest" ? "digest" : "summarise",
    });
    expect(asked).toEqual([]);
    expect(summariser.requests[0]?.way).toBe(kind === "text" || kind === "cached" ? kind : undefined);
  }
});

test("sends the conversation before the cut, and a shorter one if its last turn is unfinished", async () => {
  const { session } = history("U:9000 A:9000 | U:9000 A:9000 | U:9000 A:9000 | U:100 A:100");
  const open = new SummaryFailure("incomplete-turn", "The turn is not finished.");
  const { summariser, asked } = withProvider([open, open]);
  const result = await runCompaction({
    ...{ session, summariser, model },
    settings: settingsFor({ summarizer: { kind: "provider" }, keepRecentTokens: 100 }),
  });
  expect(result.status).toBe("compacted");
  expect(asked.map(({ messages }) => messages.length)).toEqual([7, 6, 4]);
  expect(result.keptEntryIds).toHaveLength(4);
});

test("moves the cut at most three times, then uses the next kind", async () => {
  const { session } = history(`${"U:2000 A:2000 | ".repeat(8)}U:100 A:100`);
  const open = new SummaryFailure("incomplete-turn", "The turn is not finished.");
  const { summariser, asked } = withProvider(Array(9).fill(open));
  const options = { session, summariser, model };
  const few = settingsFor({ summarizer: { kind: "provider" }, keepRecentTokens: 100 });
  const result = await runCompaction({ ...options, settings: few });
  expect(asked).toHaveLength(4);
  expect(result).toMatchObject({ status: "compacted", rung: "summarise" });
  expect(result.caveat).toContain("The turn is not finished.");
});

test("automatic compactions skip a failed provider for ten minutes, or until the model changes", async () => {
  const { summariser, asked } = withProvider(Array(9).fill(new SummaryFailure("error", "busy")));
  const now = { ms: 0 };
  const options = { settings, summariser, now: () => now.ms, onWarning: () => {} };
  const { session, controller } = controllerFor(options, LONG);
  const grow = () => {
    for (const content of ["a", "b"]) {
      const message = { role: "user", content: content.repeat(200_000), timestamp: 1 } as const;
      session.append({ type: "message", message });
    }
    controller.userMessageArrived();
  };
  const caveats: (string | undefined)[] = [];
  for (const ms of [0, 1, 600_001]) {
    now.ms = ms;
    grow();
    caveats.push((await controller.checkThreshold({ site: "beforePrompt" })).caveat);
  }
  expect(asked).toHaveLength(2);
  expect(caveats.map((caveat) => caveat?.includes("busy") ?? false)).toEqual([true, false, true]);
  controller.modelChanged();
  grow();
  await controller.checkThreshold({ site: "beforePrompt" });
  expect(asked).toHaveLength(3);
});

test("a preview names the provider's request, and a review its summary", async () => {
  const { session } = history(LONG);
  const { summariser } = withProvider([], { isSealed: true });
  const plan = planCompaction({ session, settings, summariser, model });
  expect(plan.plannedRequests).toMatchObject([{ kind: "provider" }]);
  expect(plan.plannedRequests![0]!.inputTokens).toBeGreaterThan(14_000);
  expect(lossLines(plan, { isPlan: true })[0]?.text).toBe(
    "The model will also see a sealed summary, which only its provider can read.",
  );
  const { review, drafts } = scripted([]);
  const reviewed = onFile(long);
  const asking = settingsFor({ summarizer: { kind: "provider" }, keepRecentTokens: 200, confirm: "always" });
  await runCompaction({ session: reviewed.session, settings: asking, summariser, model: small, review });
  expect(drafts.map(({ result }) => result.provider)).toEqual([{ isSealed: true }, { isSealed: true }]);
});

test("an edited summary replaces the provider's", async () => {
  const { session } = onFile(long);
  const { review } = scripted([
    { action: "apply" },
    (draft) => ({ action: "edit", prose: `${draft.prose}\n\nThe port is 8123.` }),
  ]);
  const asking = settingsFor({ summarizer: { kind: "provider" }, keepRecentTokens: 200, confirm: "always" });
  const { summariser } = withProvider();
  const { entry } = await runCompaction({ session, settings: asking, summariser, model: small, review });
  expect(entry!.summary).toContain("The port is 8123.");
  expect(storedProviderSummary(entry as CompactionEntry)).toBeUndefined();
  expect(manifestOf(entry)?.isEdited).toBe(true);
});
