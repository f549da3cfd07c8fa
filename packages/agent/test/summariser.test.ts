import {
  compactionSettings,
  runCompaction,
  type Summariser,
  summarySections,
} from "@bonsai-agent/compaction";
import type { AssistantMessage, Message, ModelPrices } from "@bonsai-agent/messages";
import {
  type AnswerBuilder,
  type CatalogueModel,
  finalEvent,
  ModelClient,
  type ModelRequest,
  type ProviderCall,
} from "@bonsai-agent/models";
import { type ScenarioAnswer, scriptedProvider } from "@bonsai-agent/models/scripted";
import { createSession, type Session } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import {
  cheaperWay,
  modelSummariser,
  PromptCache,
  type SummaryWays,
  summariserFor,
} from "../src/run/summariser.ts";

const prices: ModelPrices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const model: CatalogueModel = {
  provider: "scripted",
  id: "actor",
  name: "Actor",
  api: "scripted",
  baseUrl: "",
  input: ["text"],
  reasoning: false,
  contextWindow: 200_000,
  maxOutputTokens: 8_000,
  usdPerMillionTokens: prices,
};

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

const summary = (kind: "history" | "turnPrefix" | "branch", body = "noted") =>
  summarySections[kind].map((heading) => `## ${heading}\n${body}`).join("\n\n");

/** A session whose last turn was asked with a cached prefix, and what its summariser asks for. */
async function warmSession(options: {
  summaries?: ScenarioAnswer[];
  usage?: Partial<AssistantMessage["usage"]>;
  thinking?: ModelRequest["thinking"];
  model?: Partial<CatalogueModel>;
  fallback?: "always" | "never";
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
  const summariser = modelSummariser({ models, selection, session, promptCache, now: () => at.ms });
  const compact = (reason: "manual" | "threshold" | "overflow" = "manual") =>
    runCompaction({
      session,
      reason,
      summariser,
      settings: compactionSettings({
        ...{ keepRecentTokens: 4, mask: { enabled: false } },
        summarizer: { fallback: options.fallback ?? "always" },
      }),
    });
  return { session, request, calls, compact, at, selection };
}

function say(session: Session, message: Message): void {
  session.append({ type: "message", message: message as never });
}

function answer(): AssistantMessage {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  return {
    role: "assistant",
    content: [],
    api: "scripted",
    provider: "scripted",
    model: "actor",
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, cost },
    stopReason: "stop",
    timestamp: 1,
  };
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
  expect(summaryCalls(calls)).toHaveLength(2);
  expect(session.leafId).toBe(before);
  // From then on as text at once.
  expect(await compact()).toMatchObject({ status: "compacted" });
  expect(summaryCalls(calls).map(({ messages }) => messages.length)).toEqual([19, 1, 1]);
});

test("without an agent, everything is asked for as text, and an overflow is reported", async () => {
  const seen: ProviderCall[] = [];
  const summariser = (text: ScenarioAnswer): Summariser =>
    summariserFor({
      model,
      models: new ModelClient({
        providers: {
          scripted: async () =>
            scriptedProvider((call) => {
              seen.push(call);
              return text;
            }),
        },
      }),
    });
  const request = {
    kind: "history" as const,
    messages: [],
    prompt: { system: "S", user: "U" },
    instruction: "I",
    maxSummaryTokens: 100,
    signal: new AbortController().signal,
  };
  const good = summariser({ text: "## Goal\nx" });
  expect([good.name, good.contextWindow, good.maxOutputTokens]).toEqual(["scripted/actor", 200_000, 8_000]);
  expect(await good.summarise(request)).toMatchObject({ text: "## Goal\nx", stopReason: "stop" });
  expect(seen[0]).toMatchObject({ systemPrompt: "S", tools: [], maxOutputTokens: 100 });
  const tooLong = { error: { status: 400, message: "prompt is too long: 300000 tokens > 200000 maximum" } };
  expect(await summariser(tooLong).summarise(request)).toMatchObject({
    stopReason: "error",
    overflow: true,
    errorMessage: expect.stringContaining("prompt is too long"),
  });
  const calling = { text: "## Goal\nx", calls: [{ name: "read" }], stopReason: "stop" as const };
  expect(await summariser(calling).summarise(request)).toMatchObject({ stopReason: "toolUse" });
  const aborted = await summariser({ text: "x" }).summarise({ ...request, signal: AbortSignal.abort() });
  expect(aborted).toMatchObject({ stopReason: "aborted" });
});

test.each(["anthropic-messages", "openai-responses", "openai-chat"] as const)(
  "over %s, what goes over the wire begins as the turn's request did",
  async (api) => {
    const bodies: Record<string, unknown>[] = [];
    const onPayload = (payload: unknown) => {
      bodies.push(payload as Record<string, unknown>);
      throw new Error("Nothing leaves this machine.");
    };
    const models = new ModelClient({ keys: { key: () => "k" }, retry: { maxRetries: 0 } });
    const own = { ...model, provider: "test", api, baseUrl: "http://127.0.0.1:1" };
    const from = { api, provider: "test", model: own.id };
    const session = createSession({ cwd: "/project" });
    const call = { type: "toolCall" as const, id: "call_1", name: "read", arguments: { path: "a.ts" } };
    say(session, { role: "user", content: "word ".repeat(9_000), timestamp: 1 });
    say(session, { ...answer(), ...from, content: [call], stopReason: "toolUse" });
    const read = { toolCallId: "call_1", toolName: "read", isError: false, timestamp: 1 };
    say(session, { role: "toolResult", ...read, content: [{ type: "text", text: "text of a.ts" }] });
    const request: ModelRequest = {
      model: own,
      purpose: "turn",
      systemPrompt: "You are a test.",
      tools: [{ name: "read", description: "Reads.", parameters: { type: "object", properties: {} } }],
      messages: session.projection().items.map(({ message }) => message),
      cacheKey: session.id,
      onPayload,
    };
    await finalEvent(models.stream(request));
    const usage = { ...answer().usage, cacheRead: 12_000 };
    const last = { ...answer(), ...from, usage, content: [{ type: "text" as const, text: "Fine." }] };
    say(session, last);
    const promptCache = new PromptCache();
    promptCache.remember({ request, answer: last, atMs: 0 });
    const summariser = modelSummariser({
      models,
      selection: { model: own },
      session,
      promptCache,
      now: () => 1,
    });
    const failed = await summariser.summarise({
      kind: "history",
      messages: [],
      prompt: { system: "S", user: "word ".repeat(9_000) },
      instruction: "Write notes.",
      maxSummaryTokens: 2_000,
      signal: new AbortController().signal,
    });
    expect(failed.stopReason).toBe("error");
    expect(bodies).toHaveLength(2);
    const [turn, asked] = bodies.map(withoutBreakpoints) as [WireBody, WireBody];
    const key = api === "openai-responses" ? "input" : "messages";
    expect(JSON.stringify(asked[key]!.slice(0, turn[key]!.length))).toBe(JSON.stringify(turn[key]));
    expect(JSON.stringify(asked[key]!.at(-1))).toContain("Write notes.");
    const { [key]: _turn, max_tokens: _a, max_completion_tokens: _b, max_output_tokens: _c, ...rest } = turn;
    expect(asked).toMatchObject(rest);
  },
);

type WireBody = Record<string, unknown[] | undefined>;

/** Marks of the cache are not part of the compared prefix. */
function withoutBreakpoints(body: unknown): unknown {
  return JSON.parse(JSON.stringify(body, (key, value) => (key === "cache_control" ? undefined : value)));
}

test("a summary that a content filter ended is a failure", async () => {
  const provider = {
    async *stream(_call: ProviderCall, built: AnswerBuilder) {
      yield built.text(summary("history"));
      built.stop("stop", "content_filter");
    },
  };
  const models = new ModelClient();
  models.serve("box", provider);
  const own: CatalogueModel = { ...model, provider: "box", api: "extension" };
  const answered = await summariserFor({ models, model: own }).summarise({
    kind: "history",
    messages: [],
    prompt: { system: "S", user: "U" },
    maxSummaryTokens: 2_000,
    signal: new AbortController().signal,
  });
  expect(answered).toMatchObject({ stopReason: "error" });
  expect(answered.errorMessage).toContain("withheld a part of the summary (content_filter)");
});
