import { type AssistantMessage, emptyUsage } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import type { ProviderOptions, ProviderStreamRequest } from "../src/index.ts";
import { openTestSession } from "../src/testing/index.ts";
import { answer, models, providerStage } from "./provider-stage.ts";

test("an extension's answer is the whole answer", async () => {
  const { register, ask } = await providerStage();
  const asked: ProviderStreamRequest[] = [];
  const content: AssistantMessage["content"] = [
    { type: "thinking", thinking: "Hm.", thinkingSignature: "s" },
    { type: "text", text: "I look." },
    { type: "toolCall", id: "c1", name: "ls", arguments: { path: "." } },
  ];
  register("mine", {
    apiKey: "literal-key",
    models: [{ id: "m", cost: { input: 1_000_000, output: 0 } }],
    async stream(request) {
      asked.push(request);
      return answer({ content, stopReason: "toolUse" });
    },
  });
  const { final, events } = await ask("mine/m");
  expect(asked).toMatchObject([
    {
      model: { provider: "mine", id: "m" },
      systemPrompt: "Be brief.",
      apiKey: "literal-key",
      thinking: "off",
    },
  ]);
  expect(asked[0]?.messages).toMatchObject([{ role: "user", content: "Hi" }]);
  expect(Object.isFrozen(asked[0]?.messages[0])).toBe(true);
  expect(final).toMatchObject({
    type: "done",
    message: { api: "extension", provider: "mine", model: "m", content, stopReason: "toolUse" },
  });
  expect(final.message.usage).toMatchObject({ input: 10, output: 5, totalTokens: 15, cost: { total: 10 } });
  expect(events.map(({ type }) => type)).toEqual(["start", "text", "tool_call", "tool_call", "done"]);
});

test("an extension's stream is relayed, and its final answer counts", async () => {
  const { register, ask } = await providerStage();
  const content: AssistantMessage["content"] = [
    { type: "thinking", thinking: "Hm.", thinkingSignature: "signed" },
    { type: "text", text: "Good day." },
  ];
  register("mine", {
    models,
    async *stream() {
      const message = answer({ content });
      yield { type: "start", message };
      yield { type: "thinking", contentIndex: 0, delta: "Hm.", message };
      yield { type: "text", contentIndex: 1, delta: "Good ", message };
      yield { type: "text", contentIndex: 1, delta: "day.", message };
      yield { type: "done", message };
    },
  });
  const { final, events } = await ask("mine/m");
  expect(events.flatMap((event) => ("delta" in event ? [event.delta] : []))).toEqual([
    "Hm.",
    "Good ",
    "day.",
  ]);
  expect(final).toMatchObject({ type: "done", message: { content } });
});

const failures: [string, NonNullable<ProviderOptions["stream"]>, object][] = [
  [
    "an error as answer",
    async () => answer({ stopReason: "error", errorMessage: "no more" }),
    { message: "no more" },
  ],
  [
    "a throw",
    () => {
      throw new Error("broken");
    },
    { message: "broken" },
  ],
  [
    "a throw that looks like an overflow",
    () => {
      throw Object.assign(new Error("prompt is too long: 300 tokens > 200 maximum"), { status: 400 });
    },
    { kind: "inputTooLong" },
  ],
  [
    "a stream without an end",
    async function* () {
      yield { type: "text", contentIndex: 0, delta: "Go", message: answer() };
    },
    { message: expect.stringContaining("without a done or error event") },
  ],
  ["nothing", (async () => undefined) as never, { message: expect.stringContaining("returned undefined") }],
  [
    "a text without text",
    (async () => answer({ content: [{ type: "text" }] as never })) as never,
    { message: expect.stringContaining("content.0.text") },
  ],
  [
    "content of a kind that there is not",
    (async () => answer({ content: [{ type: "smell" }] as never })) as never,
    { message: expect.stringContaining("content.0.type") },
  ],
  [
    "a call of nothing",
    (async () => answer({ content: [{ type: "toolCall", id: "1" }] as never })) as never,
    { message: expect.stringContaining("content.0.name") },
  ],
  [
    "no answer",
    (async () => ({ text: "Hi" })) as never,
    { message: expect.stringContaining("returned object") },
  ],
];

test("a failed stream of an extension is a failed request", () =>
  everyRow(failures)(async ([_name, stream, failure]) => {
    const { register, ask } = await providerStage();
    register("mine", { models, stream });
    expect((await ask("mine/m")).final).toMatchObject({
      type: "error",
      message: { stopReason: "error" },
      failure,
    });
  }));

test("ignores usage with non-numeric counts", async () => {
  const { register, ask } = await providerStage();
  const usage = { input: 5, output: "many", cacheRead: Number.NaN, cost: null };
  register("mine", { models, stream: async () => answer({ usage: usage as never }) });
  expect((await ask("mine/m")).final).toMatchObject({
    message: { usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 } },
  });
});

test("an abort ends a stream that does not listen", async () => {
  const { register, ask } = await providerStage();
  const stop = new AbortController();
  register("mine", {
    models,
    stream: () => {
      stop.abort();
      return new Promise(() => {});
    },
  });
  expect((await ask("mine/m", stop.signal)).final).toMatchObject({ message: { stopReason: "aborted" } });
});

test("invalid counts in a provider's setUsage do not end the answer", () =>
  everyRow([null, undefined, 5, "many", [1], { input: "12" }])(async (counts) => {
    const { register, ask } = await providerStage();
    register("mine", {
      models,
      stream: async function* (_request, own) {
        own.setUsage(counts as never);
        yield own.text("Here.");
        own.stop("stop");
      } as NonNullable<Parameters<typeof register>[1]["stream"]>,
    });
    expect((await ask("mine/m")).final).toMatchObject({
      type: "done",
      message: { content: [{ text: "Here." }], usage: { totalTokens: 0 } },
    });
  }));

test("an agent uses an extension's provider, with tools, until the extension is unloaded", async () => {
  const asked: ProviderStreamRequest[] = [];
  const session = await openTestSession({
    extensions(bonsai) {
      bonsai.registerProvider("mine", {
        models: [{ id: "m", contextWindow: 50_000 }],
        async stream(request) {
          asked.push(request);
          return said(request.messages.at(-1)?.role === "toolResult" ? "An empty folder." : undefined);
        },
      });
      bonsai.registerCommand("mine", {
        async handler(_args, ctx) {
          await bonsai.setModel(ctx.modelRegistry.find("mine", "m")!);
        },
      });
    },
  });
  await session.command("/mine");
  const { status, answer } = await session.prompt("What is here?");
  expect(status).toBe("done");
  expect(answer).toMatchObject({
    provider: "mine",
    model: "m",
    content: [{ type: "text", text: "An empty folder." }],
  });
  expect(asked[0]?.systemPrompt).toContain("You are Bonsai");
  expect(asked[0]?.tools.map(({ name }) => name)).toContain("ls");
  expect(asked[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "toolResult"]);
  expect(session.agent.model.provider).toBe("mine");
  session.extensions.unload();
  expect(await session.prompt("And now?")).toMatchObject({
    status: "failed",
    error: { message: expect.stringContaining("Cannot use mine") },
  });
  await session.close();
});

/** An answer; without a text, one that calls `ls`. */
function said(text: string | undefined): AssistantMessage {
  const call = { type: "toolCall" as const, id: "c1", name: "ls", arguments: {} };
  return {
    role: "assistant",
    content: text === undefined ? [call] : [{ type: "text", text }],
    api: "mine",
    provider: "mine",
    model: "m",
    usage: { ...emptyUsage(), input: 100, output: 5, totalTokens: 105 },
    stopReason: text === undefined ? "toolUse" : "stop",
    timestamp: 0,
  };
}
