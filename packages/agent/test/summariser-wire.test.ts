import type { Summariser } from "@bonsai-agent/compaction";
import {
  type AnswerBuilder,
  type CatalogueModel,
  finalEvent,
  ModelClient,
  type ModelRequest,
  type ProviderCall,
} from "@bonsai-agent/models";
import { type ScenarioAnswer, scriptedProvider } from "@bonsai-agent/models/scripted";
import { createSession } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { modelSummariser, PromptCache, summariserFor } from "../src/run/summariser.ts";
import { answer, model, say, summary } from "./warm-session.ts";

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
