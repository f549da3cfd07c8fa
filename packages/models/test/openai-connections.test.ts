import { getEventListeners, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { everyRow } from "@bonsai-agent/testkit";
import { APIConnectionError } from "openai";
import { afterEach, describe, expect, test, vi } from "vitest";
import { requestError, streamError } from "../src/wire/errors.ts";
import { exchange } from "./openai-exchange.ts";
import { whole, wholeChat } from "./openai-protocols.ts";
import { served } from "./served.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

/** Calls back after so many turns of the event loop: long enough for the client to see what was written. */
function afterTurns(turns: number, callback: () => void): void {
  setImmediate(() => (turns === 0 ? callback() : afterTurns(turns - 1, callback)));
}

describe("the end of an answer", () => {
  test("a connection that stays open or breaks after the answer changes nothing", () =>
    everyRow(whole.flatMap((row) => [[...row, "hang"] as const, [...row, "cut"] as const]))(
      async ([, model, reply, end]) => {
        const result = await exchange((await served({ ...reply, end })).url, { model });
        expect(result.error).toBeUndefined();
        expect(result.message).toMatchObject({
          content: [{ type: "text", text: "All." }],
          stopReason: "stop",
        });
      },
    ));

  test("one connection serves all requests", () =>
    everyRow(whole)(async ([, model, reply]) => {
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
    }));

  test("no listener stays on the caller's signal", () =>
    everyRow(whole)(async ([, model, reply]) => {
      const { signal } = new AbortController();
      const { url } = await served(reply);
      await exchange(url, { model, signal });
      await exchange(url, { model, signal, onResponse: () => Promise.reject(new Error("x")) });
      expect(getEventListeners(signal, "abort").length).toBeLessThanOrEqual(1);
    }));
});

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
