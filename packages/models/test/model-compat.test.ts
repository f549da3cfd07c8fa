import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { everyRow, type LoopbackReply, type LoopbackServer, loopbackServer } from "@bonsai-agent/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { anthropicRequest } from "../src/anthropic/anthropic.ts";
import { type CatalogueModel, finalEvent, loadCatalogue, ModelClient } from "../src/index.ts";
import type { ModelCompat } from "../src/model.ts";
import { chatRequest } from "../src/openai/openai-chat.ts";
import { claude } from "./anthropic-exchange.ts";
import {
  answerOf,
  callOf,
  delta,
  finish,
  local,
  streamOf,
  turnOf,
  usageChunk,
  user,
} from "./openai-exchange.ts";

const thinker: CatalogueModel = { ...local, reasoning: true };
const levels = ["off", "minimal", "medium", "xhigh"] as const;

describe("a chat model of one's own", () => {
  test("thinks as its compat says", () =>
    everyRow<[ModelCompat, unknown[]]>([
      [
        { thinking: "reasoning_effort" },
        [{}, ...["low", "medium", "high"].map((reasoning_effort) => ({ reasoning_effort }))],
      ],
      [
        { thinking: "reasoning_effort", efforts: ["none", "high", "max"] },
        ["none", "high", "high", "max"].map((reasoning_effort) => ({ reasoning_effort })),
      ],
      [
        { thinking: "reasoning" },
        [{}, ...["low", "medium", "high"].map((effort) => ({ reasoning: { effort } }))],
      ],
      [
        { thinking: "switch" },
        ["disabled", "enabled", "enabled", "enabled"].map((type) => ({ thinking: { type } })),
      ],
      [{ thinking: "none" }, [{}, {}, {}, {}]],
      [{}, [{}, {}, {}, {}]],
    ])(([compat, expected]) => {
      const asked = levels.map((thinking) => {
        const request = chatRequest(callOf({ model: { ...thinker, compat }, thinking }));
        const { reasoning_effort, reasoning, thinking: switched } = { ...request } as Record<string, unknown>;
        return JSON.parse(JSON.stringify({ reasoning_effort, reasoning, thinking: switched }));
      });
      expect(asked).toEqual(expected);
    }));
  test("says of a known server what goes before what is known of it", () => {
    const model = {
      ...thinker,
      provider: "deepseek",
      compat: { thinking: "none", thinkingBack: "none" } as const,
    };
    const said = answerOf(model, [{ type: "text", text: "yes" }]);
    const request = chatRequest(callOf({ model, thinking: "high", messages: [user("a"), said, user("b")] }));
    expect(JSON.stringify(request)).not.toMatch(/reasoning|thinking/);
  });
  test("gets its thinking back in the field that is named", () => {
    const model = { ...thinker, compat: { thinkingBack: "reasoning_content" } as const };
    const thought = answerOf(model, [
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "yes" },
    ]);
    const { messages } = chatRequest(callOf({ model, systemPrompt: "", messages: [user("a"), thought] }));
    expect(messages[1]).toEqual({ role: "assistant", content: "yes", reasoning_content: "hm" });
  });
  test("has its cap under the name that is said, and no stream options where they are refused", () => {
    const compat = { maxTokensField: "max_completion_tokens", streamOptions: false } as const;
    const request = chatRequest(callOf({ model: { ...local, compat } }));
    expect(request).toMatchObject({ max_completion_tokens: 8_000 });
    expect(request).not.toHaveProperty("max_tokens");
    expect(request).not.toHaveProperty("stream_options");
  });
});

describe("an Anthropic model of one's own", () => {
  const own = { ...claude, id: "house-model" };
  const asked = (compat: ModelCompat, thinking: (typeof levels)[number]) => {
    const request = anthropicRequest(callOf({ model: { ...own, compat }, thinking }));
    return { thinking: request.thinking, effort: request.output_config?.effort };
  };
  test("thinks within an effort", () => {
    expect(asked({ thinking: "adaptive" }, "xhigh")).toMatchObject({
      thinking: { type: "adaptive" },
      effort: "high",
    });
    expect(asked({ thinking: "adaptive", efforts: ["xhigh"] }, "xhigh")).toMatchObject({ effort: "xhigh" });
    expect(asked({ thinking: "adaptive" }, "off")).toMatchObject({ thinking: { type: "disabled" } });
  });
  test("thinks within a budget, whatever its id says", () => {
    const id = "claude-opus-5-5";
    const request = anthropicRequest(
      callOf({ model: { ...claude, id, compat: { thinking: "budget" } }, thinking: "low" }),
    );
    expect(request.thinking).toEqual({ type: "enabled", budget_tokens: 4_096 });
  });
  test("is not asked to think", () => {
    for (const level of levels) expect(asked({ thinking: "none" }, level)).toEqual({});
  });
});

describe("in models.json", () => {
  const models = async (file: unknown) => {
    const home = mkdtempSync(join(tmpdir(), "bonsai-compat-"));
    writeFileSync(join(home, "models.json"), JSON.stringify(file));
    return loadCatalogue({ home, env: {} });
  };
  const box = { provider: "box", baseUrl: "http://127.0.0.1:9/v1" };
  test("a model's own word goes before its provider's, and who is asked to think can", async () => {
    const { find } = await models({
      providers: [
        {
          ...box,
          compat: { thinking: "switch", streamOptions: false },
          models: [
            { id: "a", contextWindow: 9_000, compat: { thinking: "none" } },
            { id: "b", contextWindow: 9_000 },
          ],
        },
      ],
    });
    expect(await find("box/a")).toMatchObject({
      reasoning: false,
      compat: { thinking: "none", streamOptions: false },
    });
    expect(await find("box/b")).toMatchObject({
      reasoning: true,
      compat: { thinking: "switch", streamOptions: false },
    });
    const nobody: typeof fetch = async () => new Response(null, { status: 404 });
    expect(await find("box/unlisted", { fetch: nobody })).toMatchObject({
      reasoning: true,
      compat: { thinking: "switch" },
    });
  });
  test("a provider that is named again changes its models too", async () => {
    const { find } = await models({
      providers: [
        { ...box, models: [{ id: "a", contextWindow: 9_000, compat: { streamOptions: true } }] },
        { ...box, compat: { streamOptions: false, maxTokensField: "max_completion_tokens" } },
        { provider: "box", models: [{ id: "a", name: "A", compat: { efforts: ["high"] } }] },
      ],
    });
    expect((await find("box/a")).compat).toEqual({
      efforts: ["high"],
      streamOptions: true,
      maxTokensField: "max_completion_tokens",
    });
  });
});

describe("a field that the server refuses", () => {
  let server: LoopbackServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });
  const yes = streamOf([
    delta({ content: "yes" }),
    finish(),
    usageChunk({ prompt_tokens: 9, completion_tokens: 2 }),
    "[DONE]",
  ]);
  const refusal = (message: string, status = 400): LoopbackReply => ({
    status,
    headers: { "content-type": "application/json" },
    chunks: [JSON.stringify({ error: { message } })],
  });
  const asking = async (answer: (body: Record<string, unknown>) => LoopbackReply) => {
    server = await loopbackServer(({ body }) => answer(body as Record<string, unknown>));
    const client = new ModelClient({ retry: { maxRetries: 0 } });
    const model = { ...local, baseUrl: server.url };
    const ask = () => finalEvent(client.stream(turnOf(model)));
    return { ask, count: () => server!.requests.length };
  };
  test("is left out, once for a client", async () => {
    const { ask, count } = await asking((body) =>
      "stream_options" in body
        ? refusal(
            "1 validation error: {'loc': ('body', 'stream_options'), 'msg': 'Extra inputs are not permitted'}",
            422,
          )
        : yes,
    );
    expect((await ask()).type).toBe("done");
    expect((await ask()).type).toBe("done");
    expect(count()).toBe(3);
  });
  test("is called otherwise, and two are learned one after the other", async () => {
    const { ask, count } = await asking((body) => {
      if ("max_tokens" in body)
        return refusal(
          "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        );
      return "stream_options" in body
        ? refusal("Unrecognized request argument supplied: stream_options")
        : yes;
    });
    expect((await ask()).type).toBe("done");
    expect((await ask()).type).toBe("done");
    expect(count()).toBe(4);
  });
  test("is not asked about again in the middle of an answer", async () => {
    const { ask, count } = await asking(() =>
      streamOf([delta({ content: "half" }), { error: { code: 400, message: "no stream_options" } }]),
    );
    expect(await ask()).toMatchObject({ type: "error", message: { content: [{ text: "half" }] } });
    expect(count()).toBe(1);
  });
  test.each([
    [
      "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 900 tokens",
      400,
      // The cap is lowered twice, under its own name.
      3,
    ],
    ["stream_options broke us", 500, 1],
    ["No stream_options here, whatever you send", 400, 2],
  ])("is not: %j with %i", async (message, status, requests) => {
    const { ask, count } = await asking(() => refusal(message, status));
    expect((await ask()).type).toBe("error");
    expect(count()).toBe(requests);
  });
});
