import { compactionSettings, runCompaction } from "@bonsai-agent/compaction";
import { cheaperWay, type SummaryWays } from "@bonsai-agent/compaction/host";
import type { AssistantMessage } from "@bonsai-agent/messages";
import {
  type CatalogueModel,
  finalEvent,
  ModelClient,
  type ModelRequest,
  type ProviderCall,
} from "@bonsai-agent/models";
import { type ScenarioAnswer, scriptedProvider } from "@bonsai-agent/models/scripted";
import { createSession } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { modelSummariser, PromptCache } from "../src/run/summariser.ts";
import { answer, model, prices, say, summary } from "./warm-session.ts";

const ways: SummaryWays = {
  prices,
  windowTokens: 200_000,
  cachedTokens: 100_000,
  newTokens: 1_000,
  serialisedTokens: 60_000,
  maxSummaryTokens: 8_000,
};

const waysByPrice: [string, Partial<SummaryWays>, "cachedPrefix" | "serialised"][] = [
  ["a large text beside a warm prefix", {}, "cachedPrefix"],
  ["a text of a tenth costs the same as reading the prefix", { serialisedTokens: 10_000 }, "serialised"],
  ["a text that costs exactly as much", { newTokens: 0, serialisedTokens: 10_000 }, "serialised"],
  ["a text that costs a little more", { newTokens: 0, serialisedTokens: 10_001 }, "cachedPrefix"],
  ["what is new is charged as written to the cache", { newTokens: 40_000 }, "serialised"],
  [
    "and as input where writing is free",
    { newTokens: 40_000, prices: { ...prices, cacheWrite: 0 } },
    "cachedPrefix",
  ],
  [
    "a text that the server writes to the cache too",
    { newTokens: 51_000, isAlwaysWritten: true },
    "cachedPrefix",
  ],
  ["the same text without that", { newTokens: 51_000 }, "serialised"],
  ["no prices", { prices: undefined }, "serialised"],
  [
    "a model that costs nothing",
    { prices: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } },
    "serialised",
  ],
  ["no price for reading from the cache", { prices: { ...prices, cacheRead: 0 } }, "serialised"],
  ["nothing in the cache", { cachedTokens: 0 }, "serialised"],
  ["an unknown window", { windowTokens: undefined }, "serialised"],
  ["a window of 0", { windowTokens: 0 }, "serialised"],
  ["exactly in the window", { windowTokens: 109_000 }, "cachedPrefix"],
  ["one token beyond the window", { windowTokens: 108_999 }, "serialised"],
];

test("chooses the cheaper way from prices and sizes", () => {
  expect(waysByPrice.map(([name, change]) => [name, change, cheaperWay({ ...ways, ...change })])).toEqual(
    waysByPrice,
  );
});

/** A session whose last turn was asked with a cached prefix, and what its summariser asks for. */
async function warmSession(options: {
  summaries?: ScenarioAnswer[];
  usage?: Partial<AssistantMessage["usage"]>;
  thinking?: ModelRequest["thinking"];
  model?: Partial<CatalogueModel>;
  fallback?: "always" | "never";
  kind?: "auto" | "text" | "cached" | "digest";
}) {
  const own = { ...model, ...options.model };
  const session = createSession({ cwd: "/project" });
  const calls: ProviderCall[] = [];
  const summaries = [...(options.summaries ?? [])];
  const play = (call: ProviderCall): ScenarioAnswer => {
    calls.push(call);
    if (call.purpose === "summary") return summaries.shift() ?? { text: summary("history") };
    return { text: "Fine.", usage: { input: 400, cacheRead: 50_000, cacheWrite: 600, ...options.usage } };
  };
  const models = new ModelClient({ providers: { scripted: async () => scriptedProvider(play) } });
  for (let turn = 0; turn < 8; turn += 1) {
    say(session, { role: "user", content: `do thing ${turn}`, timestamp: 1 });
    say(session, { ...answer(), content: [{ type: "text", text: "word ".repeat(4_000) }] });
  }
  say(session, { role: "user", content: "and the second", timestamp: 1 });
  const request: ModelRequest = {
    model: own,
    purpose: "turn",
    systemPrompt: "You are a test.",
    tools: [{ name: "read", description: "Reads.", parameters: { type: "object" } }],
    messages: session.projection().items.map(({ message }) => message),
    ...(options.thinking === undefined ? {} : { thinking: options.thinking }),
    cacheKey: session.id,
  };
  const final = await finalEvent(models.stream(request));
  say(session, final.message);
  const promptCache = new PromptCache();
  promptCache.remember({ request, answer: final.message, atMs: 0 });
  const at = { ms: 60_000 };
  const selection = { model: own };
  const reasons: string[] = [];
  const onNotCached = (reason: string) => reasons.push(reason);
  const now = () => at.ms;
  const summariser = modelSummariser({ models, selection, session, promptCache, onNotCached, now });
  const compact = (reason: "manual" | "threshold" | "overflow" = "manual") =>
    runCompaction({
      session,
      reason,
      summariser,
      settings: compactionSettings({
        ...{ keepRecentTokens: 4, mask: { enabled: false } },
        summarizer: { fallback: options.fallback ?? "always", kind: options.kind ?? "auto" },
      }),
    });
  return { session, request, calls, compact, at, selection, promptCache, reasons };
}

const summaryCalls = (calls: readonly ProviderCall[]) => calls.filter(({ purpose }) => purpose === "summary");

test("a summary goes on from the cached prefix, byte for byte", async () => {
  const { session, request, calls, compact } = await warmSession({});
  expect(await compact()).toMatchObject({ status: "compacted", rung: "summarise", requests: 1 });
  const [asked, ...others] = summaryCalls(calls);
  expect(others).toEqual([]);
  expect(JSON.stringify(asked?.messages.slice(0, 17))).toBe(JSON.stringify(request.messages));
  expect(asked).toMatchObject({
    systemPrompt: request.systemPrompt,
    tools: request.tools,
    cacheKey: session.id,
  });
  expect(asked?.messages).toHaveLength(19);
  expect(asked?.messages.at(-1)).toMatchObject({
    role: "user",
    content: expect.stringContaining("hand-over notes"),
  });
});

test.each<[string, (it: Awaited<ReturnType<typeof warmSession>>) => void]>([
  [
    "the last answer is older than five minutes",
    ({ at }) => {
      at.ms = 300_001;
    },
  ],
  [
    "the model is another one",
    ({ selection }) => {
      selection.model = { ...model, id: "other" };
    },
  ],
  [
    "the context was edited",
    ({ session }) => {
      const targetId = session.projection().items[1]!.entryId;
      session.append({ type: "context_edit", targetId, replacement: { content: "word ".repeat(3_000) } });
    },
  ],
  ["the branch was left", ({ session }) => session.moveTo(session.projection().items[1]!.entryId)],
])("as text where %s", async (_, change) => {
  const it = await warmSession({});
  change(it);
  await it.compact();
  const [asked] = summaryCalls(it.calls);
  expect(asked?.messages).toHaveLength(1);
  expect(asked?.tools).toEqual([]);
});

test.each<[string, Parameters<typeof warmSession>[0]]>([
  ["the usage shows no cache", { usage: { cacheRead: 0, cacheWrite: 0 } }],
  ["the model has no prices", { model: { usdPerMillionTokens: undefined } }],
  ["the model thinks", { thinking: "high" }],
])("as text where %s", async (_, options) => {
  const { calls, compact } = await warmSession(options);
  await compact();
  expect(summaryCalls(calls)[0]?.messages).toHaveLength(1);
});

test("asks in the way that the settings name, whatever it costs", async () => {
  const isCached = async (options: Parameters<typeof warmSession>[0]) => {
    const { calls, compact, reasons } = await warmSession(options);
    expect((await compact()).status).toBe("compacted");
    return [summaryCalls(calls).map(({ messages }) => messages.length > 1), reasons.length];
  };
  const dear = { model: { usdPerMillionTokens: { ...prices, cacheRead: 300 } } };
  expect(await isCached({ ...dear, kind: "cached" })).toEqual([[true], 0]);
  expect(await isCached({ ...dear, kind: "auto" })).toEqual([[false], 0]);
  expect(await isCached({ kind: "text" })).toEqual([[false], 0]);
  expect(await isCached({ kind: "digest" })).toEqual([[], 0]);
});

test("says once why the cached request is not continued", async () => {
  const { calls, compact, reasons, session } = await warmSession({ kind: "cached", thinking: "high" });
  await compact();
  say(session, { role: "user", content: "word ".repeat(4_000), timestamp: 1 });
  say(session, { ...answer(), content: [{ type: "text", text: "word ".repeat(4_000) }] });
  await compact();
  expect(summaryCalls(calls).length).toBeGreaterThan(1);
  expect(reasons).toEqual(["The model thinks, and would think before the summary too."]);
});

test("a summary with a hint of its request is still the cached prefix", async () => {
  const { session, request, compact, promptCache, selection } = await warmSession({});
  await compact();
  const shown = session.projection().items.map(({ message }) => message);
  const messages = shown.map((message) =>
    message.role === "compactionSummary" ? { ...message, offersRecall: true } : message,
  );
  const cached = { ...answer(), usage: { ...answer().usage, cacheRead: 5_000 } };
  promptCache.remember({ request: { ...request, messages }, answer: cached, atMs: 0 });
  say(session, cached);
  expect(promptCache.warmRequest({ session, model: selection.model, atMs: 1 })?.later).toHaveLength(1);
});

test("as text after an overflow", async () => {
  const { calls, compact } = await warmSession({});
  expect(await compact("overflow")).toMatchObject({ status: "compacted", rung: "summarise" });
  expect(summaryCalls(calls)[0]?.messages).toHaveLength(1);
});

test.each<[string, ScenarioAnswer]>([
  ["calls a tool", { calls: [{ name: "read", arguments: {} }] }],
  ["goes on with the conversation", { text: "Sure, on it." }],
  ["says nothing", { text: "" }],
  ["is cut off", { text: summary("history"), stopReason: "length" }],
  ["finds it too long", { error: { status: 400, message: "prompt is too long: 3 tokens > 2 maximum" } }],
])("a model that %s is asked as text once, and both are paid", async (_, first) => {
  const { calls, compact } = await warmSession({
    summaries: [
      { ...first, usage: { input: 1_000 } },
      { text: summary("history"), usage: { input: 500 } },
    ],
  });
  const result = await compact();
  expect(result).toMatchObject({ status: "compacted", rung: "summarise" });
  expect(summaryCalls(calls).map(({ messages }) => messages.length)).toEqual([19, 1]);
  expect(result.entry?.usage?.input).toBe(first.error === undefined ? 1_500 : 500);
  expect(result.costUsd).toBeGreaterThan(0);
});

test("a request for a summary as text is not repeated", async () => {
  const { calls, compact, session } = await warmSession({
    summaries: [{ calls: [{ name: "read", arguments: {} }] }, { text: "" }],
    fallback: "never",
  });
  const before = session.leafId;
  expect(await compact()).toMatchObject({ status: "failed" });
  expect(summaryCalls(calls).length).toBeGreaterThan(1);
  expect(session.leafId).toBe(before);
  // From then on as text at once.
  expect(await compact()).toMatchObject({ status: "compacted" });
  expect(summaryCalls(calls).map(({ messages }) => messages.length)).toEqual([19, 1, 1]);
});
