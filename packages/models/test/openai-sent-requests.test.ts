import { everyRow } from "@bonsai-agent/testkit";
import { afterEach, describe, expect, test, vi } from "vitest";
import { exchange, local } from "./openai-exchange.ts";
import { whole, wholeChat } from "./openai-protocols.ts";
import { failureOf } from "./provider-exchange.ts";
import { served } from "./served.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("requests that cannot be sent", () => {
  test("a key that no header can hold is not shown", () =>
    everyRow(["secret\nkey", "secret-ключ"])(async (apiKey) => {
      const server = await served({});
      const result = await exchange(server.url, { apiKey });
      expect(failureOf(result)).toMatchObject({
        kind: "refused",
        code: "request_not_sent",
        status: undefined,
      });
      const { error } = result as { error: Error };
      expect(`${error.message} ${String(error.cause)}`).not.toContain("secret");
      expect(server.requests).toHaveLength(0);
    }));

  test("the error names an invalid address", async () => {
    const failure = failureOf(await exchange("nowhere"));
    expect(failure).toMatchObject({ kind: "refused", code: "request_not_sent" });
    expect(failure.message).toContain("Invalid URL");
  });
});

describe("sent requests", () => {
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

  test("a hook may replace the payload; another gets the answer's status and headers", () =>
    everyRow(whole)(async ([, model, reply]) => {
      const server = await served({ ...reply, headers: { ...reply.headers, "X-Request-Id": "r-1" } });
      const onPayload = async (payload: unknown) => ({ ...(payload as object), temperature: 0 });
      const { responses } = await exchange(server.url, { model, onPayload });
      expect(server.requests[0]?.body).toMatchObject({ model: model.id, stream: true, temperature: 0 });
      expect(responses).toMatchObject([{ status: 200, headers: { "x-request-id": "r-1" } }]);
    }));
});
