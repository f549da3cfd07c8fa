import type { ExtensionContext } from "@bonsai-agent/extension";
import { type LoopbackServer, loopbackServer, sseChunks } from "@bonsai-agent/testkit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { useContext } from "../src/context-in-use.ts";
import { complete, openAICompletionsApi, streamSimple } from "../src/modules/ai.ts";
import { all } from "./all.ts";

let server: LoopbackServer;
const sections = ["Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps"];
const said = sections.map((name) => `## ${name}\nMoved the parser.`).join("\n\n");

beforeEach(async () => {
  server = await loopbackServer(() => ({
    headers: { "content-type": "text/event-stream" },
    chunks: sseChunks([
      { data: { choices: [{ index: 0, delta: { content: said } }] } },
      { data: { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] } },
      { data: "[DONE]" },
    ]),
  }));
});
afterEach(() => server.close());

/** As an extension of pi puts a model together itself. */
const model = () => ({
  provider: "box",
  id: "coder",
  name: "Coder",
  api: "openai-completions",
  baseUrl: `${server.url}/v1`,
  reasoning: false,
  input: ["text" as const],
  cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 100_000,
  maxTokens: 1_000,
});
const question = { messages: [{ role: "user", content: "Why?", timestamp: 0 }] };

function context(apiKey: string | undefined, stream = vi.fn()): ExtensionContext {
  const modelRegistry = { getApiKeyAndHeaders: async () => ({ ok: true, apiKey }), stream, getAll: () => [] };
  return { modelRegistry } as unknown as ExtensionContext;
}

test("a key of the extension's own goes over the wire, with its headers and limits", async () => {
  useContext(context("the host's"));
  const options = { apiKey: "own-key", headers: { "x-team": "a", "x-none": null }, maxTokens: 77 };
  const answer = await complete(model(), { systemPrompt: "Be brief.", ...question }, options);
  expect(answer).toMatchObject({ stopReason: "stop", content: [{ type: "text", text: said }] });
  const [request] = server.requests;
  expect(request?.headers).toMatchObject({ authorization: "Bearer own-key", "x-team": "a" });
  expect(request?.headers).not.toHaveProperty("x-none");
  expect(request?.body).toMatchObject({
    model: "coder",
    max_tokens: 77,
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Why?" },
    ],
  });
});

test.each([
  [{}, { reasoning_effort: "high" }],
  [{ supportsReasoningEffort: false }, {}],
  [{ thinkingFormat: "openrouter" }, { reasoning: { effort: "high" } }],
  [{ thinkingFormat: "zai" }, { thinking: { type: "enabled" } }],
])("a model that thinks is told so, with %j", async (compat, expected) => {
  useContext(context("the host's"));
  const asked = { ...model(), reasoning: true, compat };
  await streamSimple(asked, question, { apiKey: "own-key", reasoning: "high" }).result();
  const { reasoning_effort, reasoning, thinking } = server.requests[0]!.body as Record<string, unknown>;
  expect({ reasoning_effort, reasoning, thinking }).toEqual({ ...nothingSaid, ...expected });
});
const nothingSaid = { reasoning_effort: undefined, reasoning: undefined, thinking: undefined };

test("the host is asked where it has that key, or none was given", async () => {
  const stream = vi.fn(async function* () {
    yield { type: "done", message: { stopReason: "stop" } };
  });
  useContext(context("shared", stream));
  await complete(model(), question, { apiKey: "shared" });
  await streamSimple(model(), question).result();
  expect(stream).toHaveBeenCalledTimes(2);
  expect(stream.mock.calls[0]).toMatchObject([{ api: "openai-chat", maxOutputTokens: 1_000 }, question, {}]);
  expect(server.requests).toEqual([]);
});

test("a protocol can be asked whatever the model says of its own", async () => {
  const asked = { ...model(), api: "mine" };
  const events = openAICompletionsApi().streamSimple(asked, question, { apiKey: "k" });
  expect((await all(events)).map(({ type }) => type)).toContain("text_delta");
  expect((await events.result()).stopReason).toBe("stop");
});
