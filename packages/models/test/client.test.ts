import { getEventListeners } from "node:events";
import type { Message, Usage } from "@bonsai-agent/messages";
import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { AnswerBuilder } from "../src/answer-builder.ts";
import type { CatalogueModel } from "../src/model.ts";
import { ModelClient, type ModelClientOptions } from "../src/model-client.ts";
import { finalEvent, type ModelNotice, type ModelRequest, type StreamEvent } from "../src/model-request.ts";
import { type ProviderCall, ProviderError, type ProviderErrorOptions } from "../src/provider.ts";

const model: CatalogueModel = {
  provider: "lab",
  id: "actor",
  name: "Actor",
  api: "scripted",
  baseUrl: "https://lab.example",
  input: ["text", "image"],
  reasoning: true,
  contextWindow: 100_000,
  maxOutputTokens: 20_000,
  usdPerMillionTokens: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 },
};

type Step = (call: ProviderCall, answer: AnswerBuilder) => AsyncIterable<StreamEvent>;

/** A provider that plays one step for each attempt, the last one for ever, and a client that waits for nobody. */
function stage(steps: Step[], options: ModelClientOptions = {}) {
  const calls: ProviderCall[] = [];
  const waits: number[] = [];
  const notices: ModelNotice[] = [];
  const client = new ModelClient({
    providers: {
      scripted: async () => ({
        stream: (call, answer) => {
          calls.push(call);
          return steps[Math.min(calls.length, steps.length) - 1]!(call, answer);
        },
      }),
    },
    sleep: async (ms) => {
      waits.push(ms);
    },
    random: () => 0,
    now: () => 1,
    ...options,
  });
  const request = (change: Partial<ModelRequest> = {}): ModelRequest => ({
    model,
    purpose: "turn",
    systemPrompt: "Be brief.",
    tools: [],
    messages: [{ role: "user", content: "Hello", timestamp: 0 }],
    onNotice: (notice) => notices.push(notice),
    ...change,
  });
  const ask = (change: Partial<ModelRequest> = {}) => finalEvent(client.stream(request(change)));
  return { client, calls, waits, notices, request, ask };
}

const says = (
  text: string,
  usage: Parameters<AnswerBuilder["setUsage"]>[0] = { input: 100, output: 10 },
  reason = "stop",
): Step =>
  async function* (_call, answer) {
    yield answer.text(text);
    answer.setUsage(usage);
    answer.stop(reason);
  };

const refuses = (message: string, options: Partial<ProviderErrorOptions> = {}): Step =>
  async function* () {
    yield* [];
    throw new ProviderError({ kind: "refused", status: 400, message, ...options });
  };

const types = (notices: readonly ModelNotice[]) => notices.map(({ type }) => type);

describe("the output cap", () => {
  const long: Message = { role: "user", content: "word ".repeat(90_000), timestamp: 0 };
  test.each<[string, Partial<CatalogueModel>, Partial<ModelRequest>, (tokens: number) => boolean]>([
    ["is the model's", {}, {}, (tokens) => tokens === 20_000],
    ["is 32,000 at most", { maxOutputTokens: 128_000 }, {}, (tokens) => tokens === 32_000],
    [
      "is 32,000 where nothing is known",
      { maxOutputTokens: undefined, contextWindow: undefined },
      {},
      (tokens) => tokens === 32_000,
    ],
    [
      "is what was asked for",
      { maxOutputTokens: 128_000 },
      { maxOutputTokens: 50_000 },
      (tokens) => tokens === 50_000,
    ],
    ["is never above the model's", {}, { maxOutputTokens: 50_000 }, (tokens) => tokens === 20_000],
    ["is what the window leaves", {}, { messages: [long] }, (tokens) => tokens > 1_024 && tokens < 20_000],
    ["is 1,024 at least", { contextWindow: 50_000 }, { messages: [long] }, (tokens) => tokens === 1_024],
    ["is less where less was asked for", {}, { maxOutputTokens: 20 }, (tokens) => tokens === 20],
  ])("%s", async (_name, change, request, isRight) => {
    const { calls, ask } = stage([says("yes")]);
    await ask({ ...request, model: { ...model, ...change } });
    expect(calls[0]!.maxOutputTokens).toSatisfy(isRight);
  });

  const tooLarge =
    "input length and `max_tokens` exceed context limit: 88059 + 20000 > 100000, decrease input length";
  test("is lowered by the numbers and the request repeated", async () => {
    const { calls, ask, notices, waits } = stage([refuses(tooLarge), says("yes")]);
    expect((await ask()).type).toBe("done");
    expect(calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([20_000, 11_941]);
    expect(notices).toEqual([{ type: "output_cap_lowered", fromTokens: 20_000, toTokens: 11_941 }]);
    expect(waits).toEqual([]);
  });
  test("is halved where there are no numbers, and given up after two refusals", async () => {
    const { calls, ask } = stage([refuses("above the maximum allowed number of output tokens")]);
    const final = await ask();
    expect(calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([20_000, 10_000, 5_000]);
    expect(final).toMatchObject({ type: "error", failure: { kind: "inputTooLong" } });
  });
  test("a count that was too small does not hold twice", async () => {
    const mantle =
      "maximum context length is 100000 tokens. However, you requested 20000 output tokens and your prompt contains at least 80001 input tokens";
    const { calls, ask } = stage([refuses(mantle), refuses(mantle), says("yes")]);
    expect((await ask()).type).toBe("done");
    expect(calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([20_000, 19_999, 9_999]);
  });
  test("with no tokens left for an answer the input is too long", async () => {
    const words = "input length and `max_tokens` exceed context limit: 99500 + 20000 > 100000";
    const { calls, ask, notices } = stage([refuses(words)]);
    expect(await ask()).toMatchObject({
      type: "error",
      failure: { kind: "inputTooLong", inputTokens: 99_500 },
    });
    expect(calls).toHaveLength(1);
    expect(notices).toEqual([]);
  });
  test("above what the model can say is lowered to that", async () => {
    const words = "max_tokens: 20000 > 800, which is the maximum allowed number of output tokens for actor";
    const { calls, ask } = stage([refuses(words), says("yes")]);
    expect((await ask()).type).toBe("done");
    expect(calls[1]!.maxOutputTokens).toBe(800);
  });
});

test("a cap that is above the model's limit however it is lowered is no overflow", async () => {
  const words = "max_tokens: 20000 > 800, which is the maximum allowed number of output tokens for actor";
  const { calls, ask } = stage([refuses(words)]);
  expect(await ask()).toMatchObject({ failure: { kind: "outputCapTooLarge", outputLimitTokens: 800 } });
  expect(calls.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([20_000, 800, 400]);
});

describe("a window that the server names", () => {
  const tooLong = (window: number) => refuses(`prompt is too long: 2000000 tokens > ${window} maximum`);
  test("is learned where it is smaller, and notified once", async () => {
    const { client, ask, notices } = stage([tooLong(40_000)]);
    expect(await ask()).toMatchObject({ failure: { kind: "inputTooLong", windowTokens: 40_000 } });
    await ask();
    expect(notices).toEqual([{ type: "window_learned", fromTokens: 100_000, toTokens: 40_000 }]);
    expect(client.sized(model)).toEqual({ ...model, contextWindow: 40_000 });
    expect(client.sized({ ...model, id: "another" }).contextWindow).toBe(100_000);
    expect(client.sized({ ...model, contextWindow: 30_000 }).contextWindow).toBe(30_000);
  });
  test.each([200_000, 100_000, 99_999, 999])("of %i is not", async (window) => {
    const { client, ask, notices } = stage([tooLong(window)]);
    await ask();
    expect(client.sized(model)).toBe(model);
    expect(notices).toEqual([]);
  });
  test("beside something that is no overflow is not", async () => {
    const { client, ask } = stage([refuses("odd", { body: { error: { message: "odd", n_ctx: 8_192 } } })]);
    expect(await ask()).toMatchObject({ failure: { kind: "other", windowTokens: 8_192 } });
    expect(client.sized(model)).toBe(model);
  });
  test("is forgotten for good once a larger request was answered, also where the model came with it", async () => {
    const larger = says("yes", { input: 9_000, output: 10 });
    const { client, ask } = stage([tooLong(2_000), larger, tooLong(2_000), says("yes")]);
    const messages = [{ role: "user" as const, content: "abc ".repeat(9_000), timestamp: 0 }];
    await ask({ messages });
    const sized = client.sized(model);
    expect(sized.contextWindow).toBe(2_000);
    expect((await ask({ messages, model: sized })).type).toBe("done");
    expect(client.sized(sized)).toBe(model);
    await ask({ messages });
    expect(client.sized(model)).toBe(model);
  });
  test("stands where a usage above it cannot be that of the request", async () => {
    const { client, ask } = stage([tooLong(2_000), says("yes", { input: 90_000, output: 10 })]);
    await ask();
    await ask();
    expect(client.sized(model).contextWindow).toBe(2_000);
  });
  test("is learned where none was known", async () => {
    const { client, ask, notices } = stage([tooLong(8_192)]);
    const unknown = { ...model, contextWindow: undefined };
    await ask({ model: unknown });
    expect(client.sized(unknown).contextWindow).toBe(8_192);
    expect(notices).toEqual([{ type: "window_learned", fromTokens: undefined, toTokens: 8_192 }]);
  });
  test("holds for the next request's cap", async () => {
    const { calls, ask } = stage([tooLong(10_000), says("yes")]);
    await ask();
    await ask({ maxOutputTokens: 20_000 });
    expect(calls[1]!.maxOutputTokens).toBeLessThan(10_000);
    expect(calls[1]!.model.contextWindow).toBe(10_000);
  });
});

describe("an overflow that was reported as a success", () => {
  test.each<[string, Parameters<AnswerBuilder["setUsage"]>[0]]>([
    ["input above the window", { input: 100_001, output: 5 }],
    ["input and cache above the window", { input: 60_000, cacheRead: 40_001, output: 5 }],
  ])("%s", async (_name, usage) => {
    const { ask, notices } = stage([says("fine", usage)]);
    const final = await ask();
    expect(final).toMatchObject({
      type: "error",
      failure: {
        kind: "inputTooLong",
        silent: true,
        inputTokens: 100_001,
        windowTokens: 100_000,
        retryable: false,
      },
      message: { stopReason: "error", usage: { output: 5 }, content: [{ text: "fine" }] },
    });
    expect(final.message.usage.cost.total).toBeGreaterThan(0);
    expect(notices).toEqual([]);
  });
  const stops = (usage: Parameters<AnswerBuilder["setUsage"]>[0], reason: string, raw?: string): Step =>
    async function* (_call, answer) {
      yield* [];
      answer.setUsage(usage);
      answer.stop(reason, raw);
    };
  test("no answer, stopped for length, at 99% of the window", async () => {
    expect(await stage([stops({ input: 99_000 }, "length")]).ask()).toMatchObject({
      failure: { silent: true },
    });
  });
  test("the provider's word for it", async () => {
    const { ask } = stage([
      stops({ input: 90_000, output: 9_000 }, "length", "model_context_window_exceeded"),
    ]);
    expect(await ask()).toMatchObject({ failure: { kind: "inputTooLong", silent: true } });
  });
  test.each<[string, Step]>([
    ["exactly the window", says("fine", { input: 50_000, cacheRead: 50_000 })],
    ["length below 99%", says("fine", { input: 98_999 }, "length")],
    ["length with an answer", says("fine", { input: 99_500, output: 1 }, "length")],
  ])("is not: %s", async (_name, step) => {
    expect((await stage([step]).ask()).type).toBe("done");
  });
  test("is unknown where the window is", async () => {
    const { ask } = stage([says("fine", { input: 10_000_000 })]);
    expect((await ask({ model: { ...model, contextWindow: 0 } })).type).toBe("done");
  });
});

describe("repairs", () => {
  const unanswered: Message[] = [
    { role: "user", content: "go", timestamp: 0 },
    {
      role: "assistant",
      content: [{ type: "toolCall", id: "a", name: "read", arguments: {} }],
      api: "scripted",
      provider: "lab",
      model: "actor",
      stopReason: "toolUse",
      timestamp: 0,
      usage: {
        input: 0,
        output: 0,
        cacheRead: 0,
        cacheWrite: 0,
        cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
      },
    },
  ];
  test("are made before the request leaves and notified once", async () => {
    const { calls, ask, notices } = stage([says("yes")]);
    await ask({ messages: unanswered });
    await ask({ messages: unanswered });
    expect(calls.map(({ messages }) => messages.length)).toEqual([3, 3]);
    expect(notices).toEqual([
      { type: "repair", repairs: [expect.objectContaining({ kind: "unpaired_call", count: 1 })] },
    ]);
  });
  const thinking: Message[] = [
    { role: "user", content: "go", timestamp: 0 },
    {
      ...(unanswered[1] as Extract<Message, { role: "assistant" }>),
      content: [
        { type: "thinking", thinking: "hm", thinkingSignature: "s" },
        { type: "text", text: "yes" },
      ],
    },
    { role: "user", content: "more", timestamp: 0 },
  ];
  const damaged = refuses("messages.1: Invalid `signature` in `thinking` block");
  test("are made harder once when the provider calls the history damaged", async () => {
    const { calls, ask, notices } = stage([damaged, says("yes")]);
    expect((await ask({ messages: thinking })).type).toBe("done");
    expect(JSON.stringify(calls[0]!.messages)).toContain("hm");
    expect(JSON.stringify(calls[1]!.messages)).not.toContain("hm");
    expect(types(notices)).toEqual(["repair"]);
  });
  test("ask without thinking where a server misses the thinking of an earlier call", async () => {
    const misses = refuses(
      "messages.1.content.0: Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    );
    const { calls, ask } = stage([misses, says("yes")]);
    expect((await ask({ thinking: "high" })).type).toBe("done");
    expect(calls.map(({ thinking }) => thinking)).toEqual(["high", "off"]);
  });
  test("that did not help are not made again", async () => {
    const { calls, ask } = stage([damaged]);
    expect(await ask({ messages: thinking })).toMatchObject({ failure: { kind: "damagedHistory" } });
    expect(calls).toHaveLength(2);
  });
  describe("are remembered", () => {
    const later = (at: number, role: "user" | "answer"): Message =>
      role === "user"
        ? { role, content: "more", timestamp: at }
        : { ...(thinking[1] as Extract<Message, { role: "assistant" }>), timestamp: at };
    const asked = (calls: readonly ProviderCall[]) =>
      calls.map((call) => [call.thinking, JSON.stringify(call.messages).split('"hm"').length - 1]);
    const request = { messages: thinking, thinking: "high" as const, cacheKey: "s1" };
    test("for the rest of the turn, without a word", async () => {
      const { calls, ask, notices } = stage([damaged, says("yes")]);
      await ask(request);
      await ask({ ...request, messages: [...thinking, later(0, "answer")] });
      expect(asked(calls)).toEqual([
        ["high", 1],
        ["off", 0],
        ["off", 0],
      ]);
      expect(types(notices)).toEqual(["repair"]);
    });
    test("and thinking comes back in the next turn, without what was refused", async () => {
      const { calls, ask } = stage([damaged, says("yes")]);
      await ask(request);
      await ask({
        ...request,
        messages: [...thinking, later(5, "user"), later(6, "answer"), later(7, "user")],
      });
      expect(asked(calls).slice(2)).toEqual([["high", 1]]);
    });
    test("but not after a second refusal", async () => {
      const { calls, ask } = stage([damaged, says("yes"), damaged, says("yes")]);
      await ask(request);
      const next = [...thinking, later(5, "user"), later(6, "answer"), later(7, "user")];
      await ask({ ...request, messages: next });
      await ask({ ...request, messages: [...next, later(8, "answer"), later(9, "user")] });
      expect(asked(calls)).toEqual([
        ["high", 1],
        ["off", 0],
        ["high", 1],
        ["off", 0],
        ["off", 1],
      ]);
    });
    test("and refusals are counted anew when the context has changed", async () => {
      const { calls, ask } = stage([damaged, says("yes"), damaged, says("yes"), damaged, says("yes")]);
      const next = [...thinking, later(5, "user"), later(6, "answer"), later(7, "user")];
      await ask(request);
      await ask({ ...request, messages: next });
      await ask({ ...request, messages: next, prefixChangedAtMs: 1 });
      await ask({ ...request, messages: [...next, later(9, "user")], prefixChangedAtMs: 1 });
      expect(calls.map((call) => call.thinking)).toEqual([
        ...["high", "off"],
        ...["high", "off"],
        ...["high", "off"],
        "high",
      ]);
    });
    test.each<[string, Partial<ModelRequest>]>([
      ["after an edit", { prefixChangedAtMs: -1 }],
      [
        "after a compaction",
        {
          messages: [
            { role: "compactionSummary", summary: "s", tokensBefore: 1, timestamp: -1 },
            ...thinking,
          ],
        },
      ],
      ["for another session", { cacheKey: "s2" }],
      ["for another model", { model: { ...model, provider: "lab2", id: "actor" } }],
    ])("no longer %s", async (_name, change) => {
      const { calls, ask } = stage([damaged, says("yes")]);
      await ask(request);
      await ask({ ...request, ...change });
      expect(calls[2]!.thinking).toBe("high");
    });
    test("not where they did not help, and of a context that is damaged in any way", async () => {
      const broken = { messages: [null, { role: "user" }, ...thinking] as never };
      const { calls, ask } = stage([damaged, damaged, damaged, says("yes"), says("yes")]);
      await ask(request);
      expect((await ask({ ...request, ...broken })).type).toBe("done");
      expect((await ask({ ...request, ...broken })).type).toBe("done");
      expect(calls.map((call) => call.thinking)).toEqual(["high", "off", "high", "off", "off"]);
    });
  });
  const seen = (data: string): Message => ({
    role: "user",
    content: [{ type: "image", data, mimeType: "image/png" }],
    timestamp: 0,
  });
  test("drop the images of older messages once when the request is too large", async () => {
    const { calls, ask, notices } = stage([
      refuses("Request exceeds the maximum size", { status: 413 }),
      says("yes"),
    ]);
    expect((await ask({ messages: [seen("old"), seen("new")] })).type).toBe("done");
    expect(JSON.stringify(calls[1]!.messages)).toMatch(/left out.*"data":"new"/);
    expect(notices).toMatchObject([{ type: "repair", repairs: [{ kind: "too_many_bytes", count: 1 }] }]);
  });
  test("fail where there is nothing to drop: with an image for its bytes, without one as too long", async () => {
    const refused = refuses("Request exceeds the maximum size", { status: 413 });
    const withImage = stage([refused]);
    expect(await withImage.ask({ messages: [seen("new")] })).toMatchObject({
      failure: { kind: "bytesTooLarge" },
    });
    const { calls, ask } = stage([refused]);
    expect(await ask()).toMatchObject({ failure: { kind: "inputTooLong", presumed: true } });
    expect([withImage.calls.length, calls.length]).toEqual([1, 1]);
  });
});

describe("keys", () => {
  const locked = { ...model, apiKeyEnv: "LAB_KEY" };
  test("a missing one is named, and nothing is sent", async () => {
    const { calls, ask } = stage([says("yes")], { keys: { key: () => undefined } });
    const final = await ask({ model: locked });
    expect(final).toMatchObject({
      type: "error",
      failure: { kind: "other", code: "key_missing", retryable: false },
    });
    expect(final.message.errorMessage).toMatch(/no key for lab.*LAB_KEY.*auth\.json/);
    expect(calls).toHaveLength(0);
  });
  test("a server on this machine wants none", async () => {
    const { calls, ask } = stage([says("yes")]);
    expect((await ask({ model: { ...locked, baseUrl: "http://127.0.0.1:1234/v1" } })).type).toBe("done");
    expect(calls[0]!.apiKey).toBeUndefined();
  });
  test("one that the provider repeats is not shown", async () => {
    const { ask } = stage([refuses("no user with the key open-sesame", { status: 401 })], {
      keys: { key: () => "open-sesame" },
    });
    const final = await ask({ model: locked });
    expect(JSON.stringify(final)).not.toContain("open-sesame");
  });
  test("a key source that throws is the stream's error", async () => {
    const { ask } = stage([says("yes")], {
      keys: {
        key: () => {
          throw new Error("auth.json is damaged");
        },
      },
    });
    expect(await ask()).toMatchObject({ type: "error", failure: { message: "auth.json is damaged" } });
  });
});

test("an unknown protocol is named with those that are spoken", async () => {
  const client = new ModelClient();
  const odd = { ...model, api: "telegraph" as never };
  const final = await finalEvent(
    client.stream({ model: odd, purpose: "turn", systemPrompt: "", tools: [], messages: [] }),
  );
  expect(final).toMatchObject({ failure: { code: "protocol_unknown" } });
  expect(final.message.errorMessage).toContain("openai-chat");
});

test("a provider is made once for a client, and again after it could not be made", async () => {
  let made = 0;
  const { ask } = stage([], {
    providers: {
      scripted: async () => {
        made += 1;
        if (made === 1) throw new Error("not yet");
        return { stream: (call, answer) => says("yes")(call, answer) };
      },
    },
  });
  expect((await ask()).type).toBe("error");
  expect((await ask()).type).toBe("done");
  expect((await ask()).type).toBe("done");
  expect(made).toBe(2);
});

describe("abort", () => {
  test("before the request sends nothing", async () => {
    const { calls, ask } = stage([says("yes")]);
    const final = await ask({ signal: AbortSignal.abort() });
    expect(final).toMatchObject({ type: "error", message: { stopReason: "aborted" } });
    expect(final).not.toHaveProperty("failure");
    expect(calls).toHaveLength(0);
  });
  test("in the middle keeps what had come, though the provider is deaf", async () => {
    const abort = new AbortController();
    const deaf: Step = async function* (_call, answer) {
      yield answer.text("half");
      await new Promise(() => {});
    };
    const { client, request, calls } = stage([deaf]);
    const seen: StreamEvent[] = [];
    for await (const event of client.stream(request({ signal: abort.signal }))) {
      seen.push(event);
      if (event.type === "text") queueMicrotask(() => abort.abort());
    }
    expect(seen.map(({ type }) => type)).toEqual(["start", "text", "error"]);
    expect(seen.at(-1)).toMatchObject({ message: { stopReason: "aborted", content: [{ text: "half" }] } });
    expect(calls[0]!.signal.aborted).toBe(true);
  });
  test("while the reader has the word: the provider is not asked for more", async () => {
    const abort = new AbortController();
    const deaf: Step = async function* (_call, answer) {
      yield answer.text("half");
      await new Promise(() => {});
    };
    const { client, request } = stage([deaf]);
    const seen: string[] = [];
    for await (const event of client.stream(request({ signal: abort.signal }))) {
      seen.push(event.type);
      if (event.type === "text") {
        abort.abort();
        await Promise.resolve();
      }
    }
    expect(seen).toEqual(["start", "text", "error"]);
  });
  test("during the wait for a retry begins no other attempt", async () => {
    const abort = new AbortController();
    const { client, request, calls } = stage([refuses("Overloaded", { status: 529 }), says("yes")], {
      sleep: async () => abort.abort(),
    });
    const seen: string[] = [];
    for await (const event of client.stream(request({ signal: abort.signal }))) seen.push(event.type);
    expect(seen).toEqual(["start", "error"]);
    expect(calls).toHaveLength(1);
  });
  test("leaves no listener on a signal that lives longer", async () => {
    const abort = new AbortController();
    const { ask } = stage([refuses("Overloaded", { status: 529 }), says("yes")], {
      sleep: undefined,
      retry: { baseDelayMs: 1 },
    });
    expect((await ask({ signal: abort.signal })).type).toBe("done");
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
  });
  test("whoever stops reading lets the provider clean up", async () => {
    const { promise: cleaned, resolve } = Promise.withResolvers<string>();
    const tidy: Step = async function* (_call, answer) {
      try {
        yield answer.text("half");
        yield answer.text("whole");
      } finally {
        resolve("cleaned");
      }
    };
    const { client, request } = stage([tidy]);
    for await (const event of client.stream(request())) if (event.type === "text") break;
    expect(await cleaned).toBe("cleaned");
  });
  test("whoever stops reading stops the provider", async () => {
    const { client, request, calls } = stage([says("yes")]);
    for await (const event of client.stream(request())) if (event.type === "text") break;
    expect(calls[0]!.signal.aborted).toBe(true);
  });
});

describe("an answer that says nothing", () => {
  const thinks: Step = async function* (_call, answer) {
    yield answer.thinking("Hm.");
    answer.setUsage({ input: 100, output: 10 });
    answer.stop("stop");
  };
  const blank: Step = async function* (_call, answer) {
    yield answer.text(" \n");
    answer.stop("stop");
  };
  const invisible: Step = async function* (_call, answer) {
    yield answer.text("\u200b\u2060 \u00ad\ufeff\u200e");
    answer.stop("stop");
  };
  const nothing: Step = async function* (_call, answer) {
    yield* [];
    answer.stop("stop");
  };
  test.each([
    ["thinking alone", thinks, "The model thought, and ended its answer without a word or a tool call."],
    ["blanks", blank, "The model's answer was empty."],
    ["characters that nobody sees", invisible, "The model's answer was empty."],
    ["nothing", nothing, "The model's answer was empty."],
  ])("%s: is asked for once more, then told", async (_name, step, message) => {
    const { ask, calls, notices } = stage([step]);
    expect(await ask()).toMatchObject({
      type: "error",
      failure: { kind: "other", code: "answer_empty", message: `${message} 2 attempts failed.` },
      message: { stopReason: "error" },
    });
    expect(calls.length).toBe(2);
    expect(notices).toMatchObject([{ type: "retry", attempt: 1, maxAttempts: 1, failure: { message } }]);
  });
  test("an answer behind it is taken, and what the empty one used is reported", async () => {
    const voided: unknown[] = [];
    const { ask } = stage([thinks, says("yes")]);
    const final = await ask({ onVoidedUsage: (usage) => voided.push(usage) });
    expect(final).toMatchObject({ type: "done", message: { content: [{ text: "yes" }] } });
    expect(voided).toMatchObject([{ input: 100, output: 10 }]);
  });
  test("among other failures it is asked for once more alone", async () => {
    const cut = refuses("later", { status: 503 });
    const { ask, calls } = stage([cut, nothing, cut, nothing, says("too late")]);
    expect(await ask()).toMatchObject({ failure: { code: "answer_empty" } });
    expect(calls.length).toBe(4);
  });
  test("not where nothing is retried, after an abort, at the output limit, or for another purpose", async () => {
    const once = stage([nothing], { retry: { maxRetries: 0 } });
    expect(await once.ask()).toMatchObject({ failure: { code: "answer_empty" } });
    expect(once.calls.length).toBe(1);
    const abort = new AbortController();
    const stopped = stage([
      async function* (_call, answer) {
        yield answer.thinking("Hm.");
        abort.abort();
      },
    ]);
    expect(await stopped.ask({ signal: abort.signal })).toMatchObject({ message: { stopReason: "aborted" } });
    expect(stopped.calls.length).toBe(1);
    const cut = stage([
      async function* (_call, answer) {
        yield answer.thinking("Hm.");
        answer.stop("length");
      },
    ]);
    expect(await cut.ask()).toMatchObject({
      failure: {
        code: "answer_empty",
        message: "The answer was cut off at its output limit before its first word.",
      },
    });
    expect(cut.calls.length).toBe(1);
    for (const purpose of ["extension", "summary", "title"] as const)
      expect((await stage([nothing]).ask({ purpose })).type).toBe("done");
  });
});

describe("an answer beyond all measure", () => {
  test.each<[string, string, Step]>([
    [
      "text without end",
      "8,000,000 characters",
      async function* (_call, answer) {
        for (;;) yield answer.text("and so on ".repeat(10_000));
      },
    ],
    [
      "calls without end",
      "500 texts and tool calls",
      async function* (_call, answer) {
        for (;;) yield answer.endCall(answer.beginCall({ id: "", name: "ls" }));
      },
    ],
  ])("%s ends, and is not asked for again", async (_name, what, step) => {
    const { ask, calls } = stage([step]);
    expect(await ask()).toMatchObject({
      failure: { code: "answer_too_large", message: `The server sent more than ${what} for one answer.` },
    });
    expect(calls.length).toBe(1);
  });
  test("its beginning is kept, not what would fill the context", async () => {
    const { ask } = stage([
      async function* (_call, answer) {
        yield answer.thinking("Hm.");
        for (;;) yield answer.text("and so on ".repeat(10_000));
      },
    ]);
    const { message } = await ask();
    expect(message.content).toMatchObject([
      { thinking: "Hm." },
      { text: expect.stringMatching(/^(and so on )+/) },
    ]);
    expect(JSON.stringify(message.content).length).toBeLessThan(10_000);
  });
});

describe("silence", () => {
  afterEach(() => {
    vi.useRealTimers();
  });
  test("is taken for a dead stream, and the request is repeated", async () => {
    vi.useFakeTimers();
    const silent: Step = async function* (_call, answer) {
      yield answer.text("well");
      await new Promise(() => {});
    };
    const { ask, notices, calls } = stage([silent, says("yes")], { retry: { silenceMs: 90_000 } });
    const final = ask();
    await vi.advanceTimersByTimeAsync(89_999);
    expect(notices).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await final).toMatchObject({ type: "done", message: { content: [{ text: "yes" }] } });
    expect(notices).toMatchObject([
      { type: "retry", failure: { message: "Nothing came from the provider for 90 s." } },
    ]);
    expect(calls[0]!.signal.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });
  test("is none while the server gives signs of life", async () => {
    vi.useFakeTimers();
    const hidden: Step = async function* (call, answer) {
      for (let minute = 0; minute < 30; minute += 1) {
        await new Promise((resolve) => setTimeout(resolve, 60_000));
        call.onAlive();
      }
      yield answer.text("thought over");
    };
    const { ask, notices } = stage([hidden], { retry: { silenceMs: 90_000, contentMs: 0 } });
    const final = ask();
    await vi.advanceTimersByTimeAsync(30 * 60_000);
    expect(await final).toMatchObject({ type: "done", message: { content: [{ text: "thought over" }] } });
    expect(notices).toEqual([]);
  });
  /** Once a minute: a ping, or a piece of an answer. */
  const minutes = (count: number, piece: string | undefined): Step =>
    async function* (call, answer) {
      for (let minute = 0; minute < count; minute += 1) {
        await new Promise((resolve) => setTimeout(resolve, 60_000));
        call.onAlive();
        if (piece !== undefined) yield answer.thinking(piece);
      }
      yield answer.text("thought over");
      answer.stop("stop");
    };
  test.each([
    ["before the first content", undefined],
    ["empty pieces", ""],
  ])("signs of life without content for ten minutes are none: %s", async (_name, piece) => {
    vi.useFakeTimers();
    const { ask, notices } = stage([minutes(30, piece), says("yes")]);
    const final = ask();
    await vi.advanceTimersByTimeAsync(599_999);
    expect(notices).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await final).toMatchObject({ type: "done", message: { content: [{ text: "yes" }] } });
    expect(notices).toMatchObject([
      {
        type: "retry",
        failure: { message: "The provider gave signs of life for 600 s, and nothing of an answer." },
      },
    ]);
  });
  test("content is waited for anew behind each piece, and ends with a clear error", async () => {
    vi.useFakeTimers();
    const slow = stage([minutes(30, "hm")]);
    const done = slow.ask();
    await vi.advanceTimersByTimeAsync(30 * 60_000);
    expect((await done).type).toBe("done");
    const never = stage([minutes(100, undefined)], { retry: { maxRetries: 1, contentMs: 120_000 } });
    const failed = never.ask();
    await vi.advanceTimersByTimeAsync(4 * 60_000);
    expect(await failed).toMatchObject({
      type: "error",
      failure: {
        message: "The provider gave signs of life for 120 s, and nothing of an answer. 2 attempts failed.",
      },
    });
  });
  test("what the reader of a stream takes of time is not the provider's", async () => {
    vi.useFakeTimers();
    const { client, request } = stage([says("yes")], { retry: { silenceMs: 1_000, contentMs: 1_000 } });
    const types: string[] = [];
    const read = (async () => {
      for await (const event of client.stream(request())) {
        types.push(event.type);
        await new Promise((resolve) => setTimeout(resolve, 5_000));
      }
    })();
    await vi.advanceTimersByTimeAsync(60_000);
    await read;
    expect(types).toEqual(["start", "text", "done"]);
  });
  test("a sign of life while nobody waits leaves no timer behind", async () => {
    vi.useFakeTimers();
    const { client, request, calls } = stage([says("yes")]);
    for await (const event of client.stream(request())) {
      if (event.type !== "text") continue;
      calls[0]!.onAlive();
      expect(vi.getTimerCount()).toBe(0);
    }
    calls[0]!.onAlive();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("the stream never throws and ends exactly once", () => {
  const thrown = fc.oneof(
    fc.anything(),
    fc.constantFrom<unknown>(
      new Error("prompt is too long"),
      new TypeError("no"),
      undefined,
      null,
      Object.create(null),
    ),
    fc
      .constantFrom<ProviderErrorOptions["kind"]>("refused", "network", "cut", "silence", "garbled")
      .map(
        (kind) => new ProviderError({ kind, message: kind, status: kind === "refused" ? 500 : undefined }),
      ),
  );
  const act = fc.oneof(
    fc.record({
      does: fc.constant("yield" as const),
      value: fc.oneof(fc.anything(), fc.constantFrom({ type: "done" }, { type: "error" }, { type: "start" })),
    }),
    fc.record({ does: fc.constant("throw" as const), value: thrown }),
    fc.record({ does: fc.constant("say" as const), value: fc.string() }),
    fc.record({ does: fc.constant("call" as const), value: fc.string() }),
    fc.record({ does: fc.constant("abort" as const), value: fc.constant(undefined) }),
  );
  test("whatever a provider does", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(act, { maxLength: 5 }), { minLength: 1, maxLength: 4 }),
        async (attempts) => {
          const abort = new AbortController();
          const steps = attempts.map(
            (acts): Step =>
              async function* (_call, answer) {
                for (const { does, value } of acts) {
                  if (does === "yield") yield value as StreamEvent;
                  if (does === "throw") throw value;
                  if (does === "say") yield answer.text(value);
                  if (does === "call")
                    yield answer.callArguments(answer.beginCall({ id: "a", name: "read" }), value);
                  if (does === "abort") abort.abort();
                }
              },
          );
          const { client, request } = stage(steps);
          const seen: StreamEvent[] = [];
          for await (const event of client.stream(request({ signal: abort.signal }))) seen.push(event);
          const ends = seen.filter(({ type }) => type === "done" || type === "error");
          expect(ends).toHaveLength(1);
          expect(seen.at(-1)).toBe(ends[0]);
          expect(seen[0]?.type).toBe("start");
          const [end] = ends;
          if (end?.type === "error") {
            expect(end.message.stopReason).toBe(end.failure === undefined ? "aborted" : "error");
            expect(end.failure === undefined || typeof end.message.errorMessage === "string").toBe(true);
          }
        },
      ),
    );
  });
  test.each<[string, () => unknown]>([
    ["is no stream", () => undefined],
    [
      "throws at once",
      () => {
        throw new Error("no");
      },
    ],
    [
      "throws in next",
      () => ({
        [Symbol.asyncIterator]: () => ({
          next: () => {
            throw new Error("no");
          },
        }),
      }),
    ],
    ["gives nonsense", () => ({ [Symbol.asyncIterator]: () => ({ next: () => 7 }) })],
  ])("a provider that %s", async (_name, stream) => {
    const { ask } = stage([], { providers: { scripted: async () => ({ stream }) as never } });
    expect((await ask()).type).toMatch(/done|error/);
  });
  test("a listener that throws is the stream's error", async () => {
    const { ask } = stage([refuses("overloaded", { status: 529 })]);
    const onNotice = () => {
      throw new Error("the listener fell");
    };
    expect(await ask({ onNotice })).toMatchObject({
      type: "error",
      failure: { message: "the listener fell" },
    });
  });
});

describe("what a void attempt used is reported", () => {
  const cut = (counts: Parameters<AnswerBuilder["setUsage"]>[0]): Step =>
    async function* (_call, answer) {
      answer.setUsage(counts);
      yield answer.text("half");
      throw new ProviderError({ kind: "cut", message: "The stream ended." });
    };
  const asking = async (steps: Step[], change: Partial<ModelRequest> = {}) => {
    const told: Usage[] = [];
    const onVoidedUsage = (usage: Usage) => void told.push(usage);
    return { told, final: await stage(steps).ask({ onVoidedUsage, ...change }) };
  };
  test("each by itself, and the answer's usage is its own", async () => {
    const { told, final } = await asking([
      cut({ input: 1_000_000, output: 5 }),
      cut({ cacheRead: 10_000_000 }),
      says("yes"),
    ]);
    expect(told.map(({ totalTokens }) => totalTokens)).toEqual([1_000_005, 10_000_000]);
    expect(told.map(({ cost }) => cost.total)).toEqual([1.00001, 1]);
    expect(final).toMatchObject({ type: "done", message: { usage: { totalTokens: 110 } } });
  });
  test("not where nothing was used, and not for the last attempt, whose message has it", async () => {
    const { told } = await asking([cut({}), refuses("no", { status: 400 })]);
    expect(told).toEqual([]);
    const last = await asking([cut({ input: 7 })]);
    expect(last.told).toHaveLength(5);
    expect(last.final).toMatchObject({ type: "error", message: { usage: { input: 7 } } });
  });
  test("a listener that throws is the stream's error", async () => {
    const onVoidedUsage = () => {
      throw new Error("the disk is full");
    };
    const { final } = await asking([cut({ input: 7 }), says("yes")], { onVoidedUsage });
    expect(final).toMatchObject({ type: "error", failure: { message: "the disk is full" } });
  });
});

test("every answer has its cost, a failed one too", async () => {
  const half: Step = async function* (_call, answer) {
    answer.setUsage({ input: 1_000_000, output: 500_000 });
    yield answer.text("half");
    throw new ProviderError({ kind: "refused", status: 400, message: "no" });
  };
  const { ask } = stage([half]);
  expect((await ask()).message.usage.cost.total).toBe(2);
});
