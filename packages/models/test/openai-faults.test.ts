import { getEventListeners, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type LoopbackReply, type LoopbackServer, loopbackServer } from "@bonsai-agent/testkit";
import { APIConnectionError } from "openai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { OpenAiWire, requestError, streamError } from "../src/openai/openai-wire.ts";
import {
  callDelta,
  callOf,
  delta,
  endedCalls,
  exchange,
  finish,
  gpt,
  local,
  responseEnd,
  responsesOf,
  streamOf,
  usageChunk,
} from "./openai-exchange.ts";
import { failureOf } from "./provider-exchange.ts";

let server: LoopbackServer | undefined;

afterEach(async () => {
  vi.unstubAllEnvs();
  await server?.close();
  server = undefined;
});

async function serve(reply: LoopbackReply): Promise<string> {
  server = await loopbackServer(() => reply);
  return server.url;
}

/** Calls back after so many turns of the event loop: long enough for the client to see what was written. */
function afterTurns(turns: number, callback: () => void): void {
  setImmediate(() => (turns === 0 ? callback() : afterTurns(turns - 1, callback)));
}

const protocols = [
  ["chat", local],
  ["responses", gpt],
] as const;

const tooLong =
  "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.";

describe.each(protocols)("refusals in %s", (_name, model) => {
  test.each<[string, number, unknown, Record<string, unknown>]>([
    [
      "OpenAI",
      400,
      { error: { message: tooLong, type: "invalid_request_error", code: "context_length_exceeded" } },
      { code: "context_length_exceeded", message: tooLong },
    ],
    [
      "a type only",
      401,
      { error: { message: "No", type: "auth", code: null } },
      { code: "auth", message: "No" },
    ],
    [
      "llama.cpp",
      400,
      {
        error: {
          code: 400,
          message: "too big",
          type: "exceed_context_size_error",
          n_prompt_tokens: 14_429,
          n_ctx: 8_192,
        },
      },
      { code: "exceed_context_size_error", message: "too big" },
    ],
    [
      "LM Studio",
      400,
      { error: "Trying to keep the first 9 tokens" },
      { message: "Trying to keep the first 9 tokens" },
    ],
    [
      "vLLM",
      400,
      { object: "error", message: "too long", type: "BadRequestError", code: 400 },
      { code: "BadRequestError", message: "too long" },
    ],
    ["FastAPI", 422, { detail: [{ msg: "field required" }] }, { message: '[{"msg":"field required"}]' }],
    [
      "Google",
      429,
      [
        {
          error: {
            code: 429,
            message: "Quota",
            status: "RESOURCE_EXHAUSTED",
            details: [{ retryDelay: "34s" }],
          },
        },
      ],
      { code: "RESOURCE_EXHAUSTED", message: "Quota", retryAfterMs: 34_000 },
    ],
    [
      "OpenRouter",
      502,
      { error: { code: 502, message: "Provider returned error", metadata: { raw: "prompt too long" } } },
      { code: "502", message: "Provider returned error: prompt too long" },
    ],
    ["z.ai", 400, { error: { code: "1261", message: "Prompt exceeds max length" } }, { code: "1261" }],
    ["a server error", 500, { error: { message: "Oh" } }, { message: "Oh", code: undefined }],
    ["an overloaded server", 503, { error: { message: "Busy", code: "overloaded" } }, { code: "overloaded" }],
  ])("%s", async (_server, status, body, expected) => {
    const url = await serve({
      status,
      headers: { "content-type": "application/json" },
      chunks: [JSON.stringify(body)],
    });
    const result = await exchange(url, { model });
    expect(failureOf(result)).toMatchObject({ kind: "refused", status, body, ...expected });
    expect(server?.requests).toHaveLength(1);
    expect(result.responses).toMatchObject([{ status }]);
  });

  test.each([
    ["retry-after-ms", "1500", 1_500],
    ["retry-after", "7", 7_000],
    ["retry-after", "soon", undefined],
  ])("429 with %s %s", async (name, value, retryAfterMs) => {
    const chunks = ['{"error":{"message":"Slow down","code":"rate_limit_exceeded"}}'];
    const url = await serve({ status: 429, headers: { [name]: value, "x-should-retry": "true" }, chunks });
    const result = await exchange(url, { model });
    expect(failureOf(result)).toMatchObject({ status: 429, code: "rate_limit_exceeded", retryAfterMs });
    expect(server?.requests).toHaveLength(1);
  });

  test.each([400, 413, 429])("%i without a body has none", async (status) => {
    const result = await exchange(await serve({ status }), { model });
    expect(failureOf(result)).toEqual({
      kind: "refused",
      status,
      message: `${status} status code (no body)`,
      code: undefined,
      body: undefined,
      retryAfterMs: undefined,
    });
  });

  test("a page is shown as it came, and not at length", async () => {
    const page = `<h1>Bad gateway</h1>${"x".repeat(5_000)}`;
    const failure = failureOf(await exchange(await serve({ status: 502, chunks: [page] }), { model }));
    expect(failure).toMatchObject({ status: 502, body: page });
    expect(failure.message).toMatch(/^502 <h1>Bad gateway<\/h1>x+…$/);
    expect(failure.message?.length).toBeLessThan(600);
  });

  test("a refusal sent with a status of success is a refusal", async () => {
    const body = { error: { message: tooLong, code: "context_length_exceeded" } };
    const url = await serve({
      headers: { "content-type": "application/json" },
      chunks: [JSON.stringify(body)],
    });
    const failure = failureOf(await exchange(url, { model }));
    expect(failure).toMatchObject({
      kind: "refused",
      code: "context_length_exceeded",
      message: tooLong,
      body,
    });
  });
});

describe("errors inside the stream", () => {
  test.each<[string, unknown, Record<string, unknown>]>([
    [
      "LiteLLM",
      { error: { message: "litellm.MidStreamFallbackError: too long", type: null, code: "503" } },
      { status: 503, message: "litellm.MidStreamFallbackError: too long", code: "503" },
    ],
    [
      "OpenRouter",
      { id: "x", error: { code: 429, message: "Busy" }, choices: [] },
      { status: 429, message: "Busy" },
    ],
    ["a bare word", { error: "context length exceeded" }, { message: "context length exceeded" }],
    [
      "vLLM",
      { object: "error", message: "too long", code: 400, type: "BadRequestError" },
      { status: 400, code: "BadRequestError" },
    ],
    [
      "MiniMax",
      { base_resp: { status_code: 2013, status_msg: "invalid params" } },
      { message: "invalid params" },
    ],
    [
      "Google",
      [{ error: { code: 503, message: "Overloaded", status: "UNAVAILABLE" } }],
      { status: 503, code: "UNAVAILABLE" },
    ],
  ])("%s", async (_name, body, expected) => {
    const result = await exchange(await serve(streamOf([delta({ content: "Half" }), body])));
    expect(failureOf(result)).toMatchObject({ kind: "refused", ...expected });
    expect(failureOf(result).body).toBeDefined();
    expect(result.message.content).toEqual([{ type: "text", text: "Half" }]);
  });

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      "an error event",
      { type: "error", code: "server_error", message: "Oh", sequence_number: 1 },
      { code: "server_error", message: "Oh" },
    ],
    [
      "an error inside an error event",
      { type: "error", error: { code: "x", message: "Oh" } },
      { code: "x", message: "Oh" },
    ],
    [
      "a failed response",
      responseEnd({ status: "failed", error: { code: "context_length_exceeded", message: tooLong } }),
      { code: "context_length_exceeded", message: tooLong },
    ],
  ])("Responses: %s", async (_name, event, expected) => {
    const half = { type: "response.output_text.delta", output_index: 0, delta: "Half" };
    const named = await exchange(await serve(responsesOf([half, event])), { model: gpt });
    expect(failureOf(named)).toMatchObject({ kind: "refused", ...expected });
    expect(named.message.content).toEqual([{ type: "text", text: "Half" }]);
    await server?.close();
    const nameless = await exchange(await serve(streamOf([half, event])), { model: gpt });
    expect(failureOf(nameless)).toMatchObject({ kind: "refused", ...expected });
  });

  test.each(protocols)(
    "in %s a line that is no JSON is garbled, and stays off the console",
    async (_name, model) => {
      const spy = vi.spyOn(console, "error");
      const failure = failureOf(await exchange(await serve(streamOf(["{nonsense"])), { model }));
      expect(failure).toMatchObject({ kind: "garbled" });
      expect(spy).not.toHaveBeenCalled();
    },
  );

  test.each([
    ...protocols.map(([name, model]) => [name, model, 7] as const),
    ["chat", local, { choices: 7 }] as const,
  ])("in %s %j is garbled", async (_name, model, data) => {
    const failure = failureOf(await exchange(await serve(streamOf([data])), { model }));
    expect(failure).toMatchObject({ kind: "garbled", body: data });
  });
});

const callingChat = streamOf([
  callDelta({ index: 0, id: "a", function: { name: "write", arguments: '{"path":"a' } }),
]);
const callingResponses = responsesOf([
  {
    type: "response.output_item.added",
    output_index: 0,
    item: { type: "function_call", call_id: "a", name: "write" },
  },
  { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"path":"a' },
]);
const calling = [
  ["chat", local, callingChat],
  ["responses", gpt, callingResponses],
] as const;

describe("broken connections", () => {
  test.each(calling.flatMap((row) => [[...row, "cut"] as const, [...row, "close"] as const]))(
    "%s: a stream that ends in the middle of a call is cut",
    async (_name, model, reply, end) => {
      const result = await exchange(await serve({ ...reply, end }), { model });
      expect(failureOf(result)).toMatchObject({ kind: "cut", status: undefined });
      expect(result.message.content).toEqual([{ type: "toolCall", id: "a", name: "write", arguments: {} }]);
      expect(endedCalls(result)).toEqual([]);
    },
  );

  test("a Responses call without its end is cut, [DONE] or not", async () => {
    const chunks = [...(callingResponses.chunks ?? []), "data: [DONE]\n\n"];
    const result = await exchange(await serve({ ...callingResponses, chunks }), { model: gpt });
    expect(failureOf(result)).toMatchObject({ kind: "cut" });
  });

  test("text without a reason and without [DONE] is cut, however complete it looks", async () => {
    const failure = failureOf(await exchange(await serve(streamOf([delta({ content: "All." })]))));
    expect(failure).toMatchObject({ kind: "cut", message: expect.stringContaining("complete") });
  });

  test.each(protocols)("%s: a stream without any event is cut", async (_name, model) => {
    const failure = failureOf(await exchange(await serve(streamOf([])), { model }));
    expect(failure).toMatchObject({ kind: "cut", message: expect.stringContaining("began") });
  });

  test.each(protocols)(
    "%s: a server that hangs up before it answers is a matter of the network",
    async (_name, model) => {
      const result = await exchange(await serve({ end: "refuse" }), { model });
      expect(failureOf(result)).toMatchObject({ kind: "network", status: undefined });
      expect(result.responses).toEqual([]);
      expect(server?.requests).toHaveLength(1);
    },
  );

  test.each(protocols)("%s: a port where nobody listens is named", async (_name, model) => {
    const url = await serve({});
    await server?.close();
    const failure = failureOf(await exchange(url, { model }));
    expect(failure.kind).toBe("network");
    expect(failure.message).toContain("ECONNREFUSED");
  });
});

const wholeChat = streamOf([
  delta({ content: "All." }),
  finish(),
  usageChunk({ prompt_tokens: 9 }),
  "[DONE]",
]);
const wholeResponses = responsesOf([
  { type: "response.output_text.delta", output_index: 0, delta: "All." },
  responseEnd(),
]);
const whole = [
  ["chat", local, wholeChat],
  ["responses", gpt, wholeResponses],
] as const;

describe("the end of an answer", () => {
  test.each(whole.flatMap((row) => [[...row, "hang"] as const, [...row, "cut"] as const]))(
    "%s: a server that leaves the connection open or broken behind it changes nothing",
    async (_name, model, reply, end) => {
      const result = await exchange(await serve({ ...reply, end }), { model });
      expect(result.error).toBeUndefined();
      expect(result.message).toMatchObject({ content: [{ type: "text", text: "All." }], stopReason: "stop" });
    },
  );

  test.each(whole)("%s: one connection serves all requests", async (_name, model, reply) => {
    const ports = new Set<number | undefined>();
    const keeping = createServer((request, response) => {
      ports.add(request.socket.remotePort);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write((reply.chunks ?? []).join(""));
      afterTurns(20, () => response.end());
    });
    keeping.listen(0, "127.0.0.1");
    await once(keeping, "listening");
    const url = `http://127.0.0.1:${(keeping.address() as AddressInfo).port}`;
    for (let count = 0; count < 8; count++) {
      expect((await exchange(url, { model })).error).toBeUndefined();
      await new Promise<void>((resolve) => afterTurns(60, resolve));
    }
    keeping.closeAllConnections();
    keeping.close();
    expect(ports.size).toBeLessThan(8);
  });

  test.each(whole)("%s: no listener stays on the caller's signal", async (_name, model, reply) => {
    const { signal } = new AbortController();
    const url = await serve(reply);
    await exchange(url, { model, signal });
    await exchange(url, { model, signal, onResponse: () => Promise.reject(new Error("x")) });
    expect(getEventListeners(signal, "abort").length).toBeLessThanOrEqual(1);
  });
});

describe("requests that cannot be sent", () => {
  test.each(["secret\nkey", "secret-ключ"])(
    "a key that no header can hold is not shown: %j",
    async (apiKey) => {
      const result = await exchange(await serve({}), { apiKey });
      expect(failureOf(result)).toMatchObject({
        kind: "refused",
        code: "request_not_sent",
        status: undefined,
      });
      const { error } = result as { error: Error };
      expect(`${error.message} ${String(error.cause)}`).not.toContain("secret");
      expect(server?.requests).toHaveLength(0);
    },
  );

  test("an address that is none is named", async () => {
    const failure = failureOf(await exchange("nowhere"));
    expect(failure).toMatchObject({ kind: "refused", code: "request_not_sent" });
    expect(failure.message).toContain("Invalid URL");
  });
});

describe.each(protocols)("abort in %s", (name, model) => {
  const reason = new Error("the user pressed Esc");
  const half =
    name === "chat"
      ? delta({ content: "Half" })
      : { type: "response.output_text.delta", output_index: 0, delta: "Half" };

  test("before the request: nothing is sent", async () => {
    const url = await serve(streamOf([]));
    const result = await exchange(url, { model, signal: AbortSignal.abort(reason) });
    expect(result.error).toBe(reason);
    expect(server?.requests).toHaveLength(0);
  });

  test("before the head of the answer", async () => {
    const aborter = new AbortController();
    server = await loopbackServer(() => {
      aborter.abort(reason);
      return new Promise(() => {});
    });
    const result = await exchange(server.url, { model, signal: aborter.signal });
    expect(result.error).toBe(reason);
  });

  test("during silence after the head", async () => {
    const url = await serve(streamOf([], "hang"));
    const aborter = new AbortController();
    const onResponse = async () => aborter.abort(reason);
    const result = await exchange(url, { model, signal: aborter.signal, onResponse });
    expect(result.error).toBe(reason);
  });

  test("between two pieces: what had come stays", async () => {
    const url = await serve(streamOf([half, half], "hang"));
    const aborter = new AbortController();
    const result = await exchange(url, { model, signal: aborter.signal }, () => aborter.abort(reason));
    expect(result.error).toBe(reason);
    expect(result.message.content).toEqual([{ type: "text", text: "Half" }]);
  });

  test.each(["abort", "break", "a failing hook"] as const)(
    "on %s the server's connection is closed",
    async (how) => {
      const aborter = new AbortController();
      const hanging = createServer((_request, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (const chunk of streamOf([half]).chunks ?? []) response.write(chunk);
      });
      hanging.listen(0, "127.0.0.1");
      await once(hanging, "listening");
      const closed = once(hanging, "request").then(([, response]) => once(response, "close"));
      const url = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`;
      const onResponse = async () => {
        if (how === "a failing hook") throw new Error("the hook failed");
      };
      await exchange(url, { model, signal: aborter.signal, onResponse }, () => {
        if (how === "break") throw new Error("the reader had enough");
        aborter.abort(reason);
      });
      await closed;
      hanging.close();
    },
  );
});

describe("what goes to whom", () => {
  test("the key is a bearer token; the model's headers go with it", async () => {
    const url = await serve(wholeChat);
    await exchange(url, { model: { ...local, headers: { "x-title": "Bonsai" } } });
    expect(server?.requests[0]).toMatchObject({
      method: "POST",
      path: "/chat/completions",
      headers: { authorization: "Bearer key-1", "x-title": "Bonsai" },
    });
  });

  test("without a key none is sent, whatever the environment has", async () => {
    vi.stubEnv("OPENAI_API_KEY", "sk-secret-of-another");
    vi.stubEnv("OPENAI_ADMIN_KEY", "sk-admin");
    vi.stubEnv("OPENAI_ORG_ID", "org-1");
    vi.stubEnv("OPENAI_PROJECT_ID", "proj-1");
    vi.stubEnv("OPENAI_BASE_URL", "http://127.0.0.1:1");
    vi.stubEnv("OPENAI_CUSTOM_HEADERS", "x-secret: gateway\nx-other: too");
    const url = await serve(wholeChat);
    expect((await exchange(url, { apiKey: undefined })).error).toBeUndefined();
    const headers = server?.requests[0]?.headers ?? {};
    expect(headers.authorization).toBeUndefined();
    expect(Object.keys(headers).filter((name) => /^openai|secret|other/.test(name))).toEqual([]);
  });

  test("a header of the model's stands in for a key", async () => {
    const url = await serve(wholeChat);
    await exchange(url, { apiKey: undefined, model: { ...local, headers: { authorization: "Basic abc" } } });
    expect(server?.requests[0]?.headers.authorization).toBe("Basic abc");
  });

  test.each(whole)(
    "%s: a hook may replace the payload; another is told of the answer",
    async (_name, model, reply) => {
      const url = await serve({ ...reply, headers: { ...reply.headers, "X-Request-Id": "r-1" } });
      const onPayload = async (payload: unknown) => ({ ...(payload as object), temperature: 0 });
      const { responses } = await exchange(url, { model, onPayload });
      expect(server?.requests[0]?.body).toMatchObject({ model: model.id, stream: true, temperature: 0 });
      expect(responses).toMatchObject([{ status: 200, headers: { "x-request-id": "r-1" } }]);
    },
  );
});

test("of several addresses that were tried, one is named", () => {
  const tried = ["::1", "127.0.0.1"].map((address) =>
    Object.assign(new Error(`connect ECONNREFUSED ${address}:9`), { code: "ECONNREFUSED" }),
  );
  const all = Object.assign(new AggregateError(tried), { code: "ECONNREFUSED" });
  const cause = new TypeError("fetch failed", { cause: all });
  const error = requestError(new APIConnectionError({ cause }), new OpenAiWire(callOf()));
  expect(error).toMatchObject({
    kind: "network",
    message: expect.stringContaining("connect ECONNREFUSED ::1:9"),
  });
});

test.each(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "ETIMEDOUT"])("%s is silence", (code) => {
  const cause = Object.assign(new Error("too long"), { code });
  const error = new TypeError("terminated", { cause });
  expect(streamError(error)).toMatchObject({
    kind: "silence",
    message: expect.stringContaining(`too long (${code})`),
  });
  expect(requestError(new APIConnectionError({ cause: error }), new OpenAiWire(callOf()))).toMatchObject({
    kind: "silence",
  });
});

test("the runtime's own time limits are lifted, its dispatcher is kept", async () => {
  const name = Symbol.for("undici.globalDispatcher.1");
  const globals = globalThis as unknown as Record<
    symbol,
    { dispatch(options: object, handler: unknown): boolean }
  >;
  const url = await serve(wholeChat);
  const own = globals[name];
  if (own === undefined) throw new TypeError("this runtime has no dispatcher of that name");
  const asked: object[] = [];
  globals[name] = {
    dispatch(options, handler) {
      asked.push(options);
      return own.dispatch(options, handler);
    },
  };
  const result = await exchange(url).finally(() => {
    globals[name] = own;
  });
  expect(result.error).toBeUndefined();
  expect(asked).toMatchObject([{ path: "/chat/completions", headersTimeout: 0, bodyTimeout: 0 }]);
});
