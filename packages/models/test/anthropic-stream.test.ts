import { type LoopbackReply, type LoopbackServer, loopbackServer, sseChunks } from "@bonsai-agent/testkit";
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  block,
  callBlock,
  claude,
  exchange,
  failureOf,
  messageEnd,
  messageStart,
  streamOf,
  textBlock,
} from "./anthropic-exchange.ts";

let server: LoopbackServer | undefined;

afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  await server?.close();
  server = undefined;
});

async function serve(reply: LoopbackReply): Promise<string> {
  server = await loopbackServer(() => reply);
  return server.url;
}

describe("the content of an answer", () => {
  test("text comes piece by piece, with the answer so far", async () => {
    const url = await serve(
      streamOf([messageStart(), ...textBlock(0, "Good ", "day."), ...messageEnd("end_turn")]),
    );
    const { events, message } = await exchange(url);
    expect(events.map((event) => event.type === "text" && [event.contentIndex, event.delta])).toEqual([
      [0, "Good "],
      [0, "day."],
    ]);
    expect(message.content).toEqual([{ type: "text", text: "Good day." }]);
    expect(message).toMatchObject({ stopReason: "stop", rawStopReason: "end_turn", responseId: "msg_1" });
    expect(message).not.toHaveProperty("responseModel");
  });

  test("text blocks in a row stay apart, and an empty one leaves nothing", async () => {
    const url = await serve(
      streamOf([
        messageStart(),
        ...textBlock(0, "one"),
        ...textBlock(1),
        ...textBlock(2, "two"),
        ...block(3, { type: "text", text: "three" }),
        ...messageEnd("end_turn"),
      ]),
    );
    const { message } = await exchange(url);
    expect(message.content).toEqual(["one", "two", "three"].map((text) => ({ type: "text", text })));
  });

  test("thinking keeps its signature, and what is withheld keeps its data", async () => {
    const url = await serve(
      streamOf([
        messageStart(),
        ...block(0, { type: "thinking", thinking: "", signature: "" }, [
          { type: "thinking_delta", thinking: "Let me " },
          { type: "thinking_delta", thinking: "see." },
          { type: "signature_delta", signature: "sig-1" },
        ]),
        ...block(1, { type: "redacted_thinking", data: "ENCRYPTED" }),
        ...block(2, { type: "thinking", thinking: "", signature: "" }, [
          { type: "signature_delta", signature: "sig-2" },
        ]),
        ...textBlock(3, "Done."),
        ...messageEnd("end_turn"),
      ]),
    );
    const { events, message } = await exchange(url);
    expect(message.content).toEqual([
      { type: "thinking", thinking: "Let me see.", thinkingSignature: "sig-1" },
      { type: "thinking", thinking: "", thinkingSignature: "ENCRYPTED", redacted: true },
      { type: "thinking", thinking: "", thinkingSignature: "sig-2" },
      { type: "text", text: "Done." },
    ]);
    expect(events.filter((event) => event.type === "thinking").map((event) => event.delta)).toEqual([
      "Let me ",
      "see.",
    ]);
  });

  test("parallel calls take their own arguments, even when the pieces are mixed", async () => {
    const [startA, ...restA] = callBlock(0, "toolu_a", "read", '{"path":', '"a.ts"}');
    const [startB, ...restB] = callBlock(1, "toolu_b", "read", '{"path":', '"b.ts"}');
    const mixed = restA.flatMap((event, index) => [event, restB[index] ?? event]);
    const events = [messageStart(), startA, startB, ...mixed, ...messageEnd("tool_use")];
    const url = await serve(streamOf(events.filter((event) => event !== undefined)));
    const { message, events: seen } = await exchange(url);
    expect(message.content).toEqual([
      { type: "toolCall", id: "toolu_a", name: "read", arguments: { path: "a.ts" } },
      { type: "toolCall", id: "toolu_b", name: "read", arguments: { path: "b.ts" } },
    ]);
    expect(message.stopReason).toBe("toolUse");
    const complete = seen.filter((event) => event.type === "tool_call" && event.toolCall !== undefined);
    expect(complete).toHaveLength(2);
  });

  test.each([
    ["no arguments at all", [], {}],
    ["arguments cut short", ['{"path": "a'], { "bonsai.malformedArguments": '{"path": "a' }],
    ["arguments that are no object", ["[1]"], { "bonsai.malformedArguments": "[1]" }],
  ])("a call with %s is kept", async (_name, pieces, args) => {
    const url = await serve(
      streamOf([messageStart(), ...callBlock(0, "toolu_a", "ls", ...pieces), ...messageEnd("tool_use")]),
    );
    const { message } = await exchange(url);
    expect(message.content).toEqual([{ type: "toolCall", id: "toolu_a", name: "ls", arguments: args }]);
  });

  test("arguments that come whole with the start of a call are taken", async () => {
    const start = { type: "tool_use", id: "toolu_a", name: "read", input: { path: "a.ts" } };
    const url = await serve(streamOf([messageStart(), ...block(0, start), ...messageEnd(null)]));
    const { message } = await exchange(url);
    expect(message.content).toMatchObject([{ type: "toolCall", arguments: { path: "a.ts" } }]);
    expect(message.stopReason).toBe("toolUse");
    expect(message).not.toHaveProperty("rawStopReason");
  });

  test("a call that the server forgot to close ends with the answer", async () => {
    const [start, piece] = callBlock(0, "toolu_a", "read", '{"path":"a.ts"}');
    const events = [messageStart(), start, piece, ...messageEnd("tool_use")];
    const url = await serve(streamOf(events.filter((event) => event !== undefined)));
    const { message } = await exchange(url);
    expect(message.content).toMatchObject([{ type: "toolCall", arguments: { path: "a.ts" } }]);
  });

  test("a ping during a long piece is a sign of life that adds nothing", async () => {
    const [textStart, piece] = textBlock(0, "x");
    const [callStart, args, callStop] = callBlock(1, "toolu_a", "read", '{"path":"a.ts"}');
    const [thinkStart, , thinkStop] = block(2, { type: "thinking", thinking: "", signature: "" }, [{}]);
    const ping = { type: "ping" };
    const parts = [textStart, ping, piece, ping, ...textBlock(0).slice(1)];
    const calls = [callStart, ping, args, ping, callStop, ping];
    const events = [ping, ...parts, ...calls, thinkStart, ping, thinkStop];
    const url = await serve(
      streamOf([messageStart(), ...events.filter((event) => event !== undefined), ...messageEnd("tool_use")]),
    );
    const { message, events: seen } = await exchange(url);
    expect(seen.map((event) => event.type)).toEqual([
      ...["text", "text"],
      ...["tool_call", "tool_call", "tool_call", "tool_call", "tool_call"],
      "thinking",
    ]);
    expect(message.content).toEqual([
      { type: "text", text: "x" },
      { type: "toolCall", id: "toolu_a", name: "read", arguments: { path: "a.ts" } },
      { type: "thinking", thinking: "" },
    ]);
  });

  test("events need no name beside their type, and a word of farewell is passed over", async () => {
    const data = [messageStart(), ...textBlock(0, "x"), ...messageEnd("end_turn").slice(0, 1)];
    const last = { event: "message_stop", data: { type: "message_stop" } };
    const chunks = sseChunks([...data.map((body) => ({ data: body })), { data: "[DONE]" }, last]);
    const { message, error } = await exchange(await serve({ ...streamOf([]), chunks }));
    expect(error).toBeUndefined();
    expect(message.content).toEqual([{ type: "text", text: "x" }]);
  });

  test("blocks, deltas and events of an unknown kind are passed over", async () => {
    const url = await serve(
      streamOf([
        messageStart(),
        { type: "ping" },
        { type: "weather_report", sky: "clear" },
        ...block(0, { type: "hologram", shape: "cube" }, [{ type: "hologram_delta", shape: "sphere" }]),
        { type: "content_block_delta", index: 7, delta: { type: "text_delta", text: "from nowhere" } },
        ...textBlock(1, "Here."),
        ...messageEnd("end_turn"),
      ]),
    );
    const { message } = await exchange(url);
    expect(message.content).toEqual([{ type: "text", text: "Here." }]);
  });
});

describe("what an answer used", () => {
  test("all counts, the hour's part of the cache, the thinking, and the cost", async () => {
    const url = await serve(
      streamOf([
        messageStart({
          input_tokens: 100,
          output_tokens: 1,
          cache_read_input_tokens: 2_000,
          cache_creation_input_tokens: 300,
          cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 100 },
        }),
        ...textBlock(0, "x"),
        ...messageEnd("end_turn", { output_tokens: 50, output_tokens_details: { thinking_tokens: 30 } }),
      ]),
    );
    const { message } = await exchange(url);
    expect(message.usage).toMatchObject({
      input: 100,
      output: 50,
      cacheRead: 2_000,
      cacheWrite: 300,
      cacheWrite1h: 100,
      reasoning: 30,
      totalTokens: 2_450,
    });
    // 100 at 4, 50 at 20, 2,000 at 0.4, 200 at 5 and 100 at twice the input's price.
    expect(message.usage.cost.total).toBeCloseTo((400 + 1_000 + 800 + 1_000 + 800) / 1e6, 12);
  });

  test("counts told only at the end are taken", async () => {
    const url = await serve(
      streamOf([
        messageStart({ input_tokens: 0, output_tokens: 0 }),
        ...textBlock(0, "x"),
        ...messageEnd("end_turn", { input_tokens: 70, cache_read_input_tokens: 5, output_tokens: 9 }),
      ]),
    );
    const { message } = await exchange(url);
    expect(message.usage).toMatchObject({ input: 70, output: 9, cacheRead: 5, cacheWrite: 0 });
    expect(message.usage).not.toHaveProperty("reasoning");
  });

  test("a zero at the end does not take back what the start told", async () => {
    const url = await serve(
      streamOf([
        messageStart({ input_tokens: 70, output_tokens: 1, cache_read_input_tokens: 5 }),
        ...textBlock(0, "x"),
        ...messageEnd("end_turn", { input_tokens: 0, cache_read_input_tokens: null, output_tokens: 9 }),
      ]),
    );
    const { message } = await exchange(url);
    expect(message.usage).toMatchObject({ input: 70, output: 9, cacheRead: 5 });
  });

  test("no usage at all is no error", async () => {
    const start = { type: "message_start", message: { id: "msg_1" } };
    const stop = { type: "message_delta", delta: { stop_reason: "end_turn" } };
    const url = await serve(streamOf([start, ...textBlock(0, "x"), stop, { type: "message_stop" }]));
    const { message, error } = await exchange(url);
    expect(error).toBeUndefined();
    expect(message.usage.totalTokens).toBe(0);
  });

  test("another model than the one that was asked is named", async () => {
    const start = { ...messageStart(), message: { id: "msg_1", model: "claude-opus-5-5-20261001" } };
    const url = await serve(streamOf([start, ...textBlock(0, "x"), ...messageEnd("end_turn")]));
    const { message } = await exchange(url);
    expect(message).toMatchObject({ model: claude.id, responseModel: "claude-opus-5-5-20261001" });
  });
});

describe("why an answer stopped", () => {
  test.each([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["pause_turn", "stop"],
    ["max_tokens", "length"],
    ["tool_use", "toolUse"],
    ["a_reason_of_tomorrow", "stop"],
  ])("%s is %s", async (raw, stopReason) => {
    const url = await serve(streamOf([messageStart(), ...textBlock(0, "x"), ...messageEnd(raw)]));
    const { message, error } = await exchange(url);
    expect(error).toBeUndefined();
    expect(message).toMatchObject({ stopReason, rawStopReason: raw });
  });

  test("the end of the window is a refusal that names itself", async () => {
    const raw = "model_context_window_exceeded";
    const url = await serve(streamOf([messageStart(), ...textBlock(0, "half"), ...messageEnd(raw)]));
    const result = await exchange(url);
    expect(failureOf(result)).toMatchObject({ kind: "refused", code: raw, status: undefined });
    expect(failureOf(result).message).toContain(raw);
    expect(result.message).toMatchObject({ rawStopReason: raw, usage: { input: 10, output: 20 } });
    expect(result.message.content).toEqual([{ type: "text", text: "half" }]);
  });

  test.each([
    [{ type: "refusal", category: "cyber", explanation: "Not this." }, "Not this."],
    [null, "The model declined to answer (refusal)."],
  ])("a refusal is an error in the provider's words: %j", async (details, message) => {
    const url = await serve(
      streamOf([
        messageStart(),
        ...textBlock(0, "I"),
        ...messageEnd("refusal", { output_tokens: 3 }, details),
      ]),
    );
    const result = await exchange(url);
    expect(failureOf(result)).toMatchObject({ kind: "refused", code: "refusal", message });
    expect(result.message).toMatchObject({
      stopReason: "error",
      rawStopReason: "refusal",
      usage: { output: 3 },
    });
  });
});

describe("the request", () => {
  const reply = streamOf([messageStart(), ...textBlock(0, "x"), ...messageEnd("end_turn")]);

  test("goes to the Messages API with the key and the provider's headers", async () => {
    const url = await serve(reply);
    await exchange(`${url}/v1/`, { model: { ...claude, headers: { "X-Team": "trees" } } });
    const [request] = server?.requests ?? [];
    expect(request).toMatchObject({ method: "POST", path: "/v1/messages" });
    expect(request?.headers).toMatchObject({
      authorization: "Bearer key-1",
      "x-api-key": "key-1",
      "x-team": "trees",
      "x-stainless-retry-count": "0",
    });
    expect(request?.body).toMatchObject({ model: claude.id, max_tokens: 8_000, stream: true });
    expect(request?.body).not.toHaveProperty("temperature");
  });

  test("carries images, calls, results and breakpoints as the API wants them", async () => {
    const image = { type: "image", data: "iVBORw0=", mimeType: "image/png" } as const;
    const calling = streamOf([
      messageStart(),
      ...callBlock(0, "toolu_a", "read", "{}"),
      ...messageEnd("tool_use"),
    ]);
    server = await loopbackServer((_request, index) => (index === 0 ? calling : reply));
    const { message: first } = await exchange(server.url);
    await exchange(server.url, {
      tools: [{ name: "read", description: "Reads", parameters: { type: "object", properties: {} } }],
      messages: [
        { role: "user", content: [{ type: "text", text: "See" }, image], timestamp: 0 },
        first,
        {
          role: "toolResult",
          toolCallId: "toolu_a",
          toolName: "read",
          content: [image],
          isError: false,
          timestamp: 0,
        },
      ],
    });
    const cache_control = { type: "ephemeral" };
    const source = { type: "base64", media_type: "image/png", data: "iVBORw0=" };
    expect(server.requests[1]?.body).toEqual({
      model: claude.id,
      max_tokens: 8_000,
      stream: true,
      system: [{ type: "text", text: "Be brief.", cache_control }],
      tools: [
        {
          name: "read",
          description: "Reads",
          input_schema: { type: "object", properties: {} },
          cache_control,
        },
      ],
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "low" },
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "See" },
            { type: "image", source, cache_control },
          ],
        },
        { role: "assistant", content: [{ type: "tool_use", id: "toolu_a", name: "read", input: {} }] },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "toolu_a",
              content: [{ type: "image", source }],
              cache_control,
            },
          ],
        },
      ],
    });
  });

  test("without a key none is sent, not even one of the environment", async () => {
    vi.stubEnv("ANTHROPIC_API_KEY", "from-the-environment");
    vi.stubEnv("ANTHROPIC_AUTH_TOKEN", "from-the-environment");
    vi.stubEnv("ANTHROPIC_CUSTOM_HEADERS", "X-Secret: from-the-environment\nnonsense");
    const url = await serve(reply);
    const { error } = await exchange(url, { apiKey: undefined });
    expect(error).toBeUndefined();
    expect(JSON.stringify(server?.requests)).not.toContain("from-the-environment");
    expect(server?.requests[0]?.headers).not.toHaveProperty("authorization");
  });

  test("can be changed before it leaves", async () => {
    const url = await serve(reply);
    await exchange(url, {
      onPayload: async (payload) => ({ ...(payload as object), metadata: { user_id: "u" } }),
    });
    expect(server?.requests[0]?.body).toMatchObject({ model: claude.id, metadata: { user_id: "u" } });
  });

  test("tells of the answer's status and headers, for a refusal too", async () => {
    const url = await serve({ ...reply, headers: { ...reply.headers, "Request-Id": "req_1" } });
    const good = await exchange(url);
    expect(good.responses).toMatchObject([{ status: 200, headers: { "request-id": "req_1" } }]);
    await server?.close();
    const refusing = await serve({ status: 400, headers: { "Request-Id": "req_2" }, chunks: ["{}"] });
    const refused = await exchange(refusing);
    expect(refused.responses).toMatchObject([{ status: 400, headers: { "request-id": "req_2" } }]);
  });

  test("an error of who listens to the response is not the provider's", async () => {
    const url = await serve(reply);
    const problem = new Error("listener");
    const { error } = await exchange(url, { onResponse: () => Promise.reject(problem) });
    expect(error).toBe(problem);
  });

  test.each(["claude-sonnet-4-5", "claude-opus-4-6"])(
    "nothing is written to the console for %s",
    async (id) => {
      const spies = (["log", "warn", "error", "info", "debug"] as const).map((level) =>
        vi.spyOn(console, level),
      );
      const url = await serve({
        ...reply,
        chunks: [...(reply.chunks ?? []).slice(0, 2), "event: x\ndata: {no\n\n"],
      });
      const result = await exchange(url, { model: { ...claude, id }, thinking: "high" });
      expect(failureOf(result).kind).toBe("garbled");
      for (const spy of spies) expect(spy).not.toHaveBeenCalled();
    },
  );
});
