import { everyRow, type LoopbackReply, type LoopbackServer, loopbackServer } from "@bonsai-agent/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { finalEvent, ModelClient, type ModelNotice } from "../src/index.ts";
import { isOllama } from "../src/model.ts";
import { delta, finish, local, streamOf, turnOf, usageChunk, user } from "./openai-exchange.ts";

let server: LoopbackServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

function* withoutEnd(): Iterable<string> {
  for (;;) yield `${" ".repeat(1_000_000)}[`;
}

/** An Ollama that answers, and tells so large a window, or something else, once the model is loaded. */
async function ollama(contextLength: unknown, provider = "ollama") {
  server = await loopbackServer(({ path }) => {
    if (!path.endsWith("/api/ps"))
      return streamOf([
        delta({ content: "yes" }),
        finish(),
        usageChunk({ prompt_tokens: 90, completion_tokens: 2 }),
        "[DONE]",
      ]);
    const headers = { "content-type": "application/json" };
    if (isReply(contextLength)) return { headers, ...contextLength };
    const models = [
      { name: "other:latest", context_length: 2_048 },
      { name: "qwen3:latest", context_length: contextLength },
    ];
    return { headers, chunks: [JSON.stringify({ models })] };
  });
  const client = new ModelClient();
  const notices: ModelNotice[] = [];
  const onNotice = (notice: ModelNotice) => void notices.push(notice);
  const model = { ...local, provider, baseUrl: `${server.url}/box/v1`, contextWindow: 40_000 };
  const ask = (content = "Hello", parts: Partial<typeof model> = {}) =>
    finalEvent(client.stream(turnOf({ ...model, ...parts }, { messages: [user(content)], onNotice })));
  return { client, model, notices, ask, paths: () => server!.requests.map(({ path }) => path) };
}

function isReply(value: unknown): value is LoopbackReply {
  return typeof value === "object" && value !== null;
}

describe("an Ollama", () => {
  test("is asked once, after its first answer, what it runs the model with", async () => {
    const { client, model, notices, ask, paths } = await ollama(4_096);
    expect((await ask()).type).toBe("done");
    expect((await ask()).type).toBe("done");
    expect(paths()).toEqual(["/box/v1/chat/completions", "/box/api/ps", "/box/v1/chat/completions"]);
    expect(notices).toEqual([{ type: "window_learned", fromTokens: 40_000, toTokens: 4_096 }]);
    expect(client.withLearnedWindow(model).contextWindow).toBe(4_096);
  });
  test("an Ollama that reports no usable window changes nothing", () =>
    everyRow([40_000, 131_072, 512, "4096", null])(async (told) => {
      const { client, model, notices, ask } = await ollama(told);
      expect((await ask()).type).toBe("done");
      expect(notices).toEqual([]);
      expect(client.withLearnedWindow(model)).toBe(model);
    }));
  test.each<[string, LoopbackReply]>([
    ["a list without end", { more: withoutEnd() }],
    ["a name nested deep", { chunks: [`{"models":[{"name":${"[".repeat(50_000)}${"]".repeat(50_000)}}]}`] }],
  ])("an Ollama that answers with %s changes nothing", async (_name, told) => {
    const { client, model, notices, ask } = await ollama(told);
    expect((await ask()).type).toBe("done");
    expect(notices).toEqual([]);
    expect(client.withLearnedWindow(model)).toBe(model);
  });
  test("an Ollama that cannot have read the whole request has overflowed silently", async () => {
    const { ask } = await ollama(4_096);
    expect(await ask("word ".repeat(12_000))).toMatchObject({
      type: "error",
      message: { usage: { input: 90 } },
      failure: {
        kind: "inputTooLong",
        windowTokens: 4_096,
        inputTokens: expect.any(Number),
        message: expect.stringContaining("cut it to its context window of 4,096 tokens"),
      },
    });
  });
  test("an Ollama that may have read the whole request has answered", async () => {
    const { ask } = await ollama(4_096);
    expect((await ask("word ".repeat(4_400))).type).toBe("done");
  });
  test("by another name is nobody to ask", async () => {
    const { ask, paths } = await ollama(4_096, "box");
    expect((await ask()).type).toBe("done");
    expect(paths()).toEqual(["/box/v1/chat/completions"]);
  });
});

test("recognises an Ollama by provider, API and address", () =>
  everyRow([
    ["ollama", "openai-chat", "https://box.example/v1", true],
    ["box", "openai-chat", "http://192.168.0.7:11434/v1", true],
    ["box", "openai-chat", "http://192.168.0.7:8080/v1", false],
    ["ollama", "scripted", "scene.json", false],
  ] as const)(([provider, api, baseUrl, expected]) => {
    expect(isOllama({ provider, api, baseUrl })).toBe(expected);
  }));
