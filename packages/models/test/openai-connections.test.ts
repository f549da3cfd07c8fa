import { everyRow } from "@bonsai-agent/testkit";
import { APIConnectionError } from "openai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { requestError, streamError } from "../src/wire/errors.ts";
import { exchange, local } from "./openai-exchange.ts";
import { wholeChat } from "./openai-protocols.ts";
import { served } from "./served.ts";

test("a failure names one of several tried addresses", () => {
  const tried = ["::1", "127.0.0.1"].map((address) =>
    Object.assign(new Error(`connect ECONNREFUSED ${address}:9`), { code: "ECONNREFUSED" }),
  );
  const all = Object.assign(new AggregateError(tried), { code: "ECONNREFUSED" });
  const cause = new TypeError("fetch failed", { cause: all });
  const error = requestError(new APIConnectionError({ cause }));
  expect(error).toMatchObject({
    kind: "network",
    message: expect.stringContaining("connect ECONNREFUSED ::1:9"),
  });
});

test("a time limit of the HTTP client is silence", () =>
  everyRow(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "ETIMEDOUT"])((code) => {
    const cause = Object.assign(new Error("too long"), { code });
    const error = new TypeError("terminated", { cause });
    expect(streamError(error)).toMatchObject({
      kind: "silence",
      message: expect.stringContaining(`too long (${code})`),
    });
    expect(requestError(new APIConnectionError({ cause: error }))).toMatchObject({ kind: "silence" });
  }));

test("the runtime's own time limits are lifted, its dispatcher is kept", async () => {
  const name = Symbol.for("undici.globalDispatcher.1");
  const globals = globalThis as unknown as Record<
    symbol,
    { dispatch(options: object, handler: unknown): boolean }
  >;
  const { url } = await served(wholeChat);
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

describe("sent requests", () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  test("the key is a bearer token; the model's headers go with it", async () => {
    const server = await served(wholeChat);
    await exchange(server.url, { model: { ...local, headers: { "x-title": "Bonsai" } } });
    expect(server.requests[0]).toMatchObject({
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
    const server = await served(wholeChat);
    expect((await exchange(server.url, { apiKey: undefined })).error).toBeUndefined();
    const headers = server.requests[0]?.headers ?? {};
    expect(headers.authorization).toBeUndefined();
    expect(Object.keys(headers).filter((name) => /^openai|secret|other/.test(name))).toEqual([]);
  });

  test("a header of the model's stands in for a key", async () => {
    const server = await served(wholeChat);
    await exchange(server.url, {
      apiKey: undefined,
      model: { ...local, headers: { authorization: "Basic abc" } },
    });
    expect(server.requests[0]?.headers.authorization).toBe("Basic abc");
  });
});
