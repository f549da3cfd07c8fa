import { getEventListeners, once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { everyRow, loopbackServer } from "@bonsai-agent/testkit";
import { describe, expect, onTestFinished, test } from "vitest";
import { messageEnd, messageStart, textBlock } from "./anthropic-exchange.ts";
import { delta, endedCalls, streamOf } from "./openai-exchange.ts";
import { failureOf } from "./provider-exchange.ts";
import { exchangeOver, providerWires } from "./provider-wires.ts";
import { served } from "./served.ts";

const [anthropic, chat] = providerWires;
const everyWire = everyRow(providerWires);
const sse = { "content-type": "text/event-stream" };

async function listening(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Calls back after so many turns of the event loop: long enough for the client to see what was written. */
function afterTurns(turns: number, callback: () => void): void {
  setImmediate(() => (turns === 0 ? callback() : afterTurns(turns - 1, callback)));
}

describe("broken connections", () => {
  test("a stream that ends in the middle of a call is cut", () =>
    everyWire(async (wire) => {
      for (const end of ["cut", "close"] as const) {
        const result = await exchangeOver(wire, (await served({ ...wire.openCall(), end })).url);
        expect(failureOf(result)).toMatchObject({ kind: "cut", status: undefined });
        expect(result.message.content).toEqual([
          { type: "toolCall", id: "t1", name: "write", arguments: {} },
        ]);
        expect(endedCalls(result)).toEqual([]);
      }
    }));

  test("an answer without its last event is cut, however complete it looks", async () => {
    const events = [messageStart(), ...textBlock(0, "All."), ...messageEnd("end_turn").slice(0, 1)];
    for (const [wire, data] of [
      [anthropic!, events],
      [chat!, [delta({ content: "All." })]],
    ] as const) {
      const failure = failureOf(await exchangeOver(wire, (await served(streamOf(data))).url));
      expect(failure).toMatchObject({ kind: "cut", message: expect.stringContaining("complete") });
    }
  });

  test("a stream without any event is cut", () =>
    everyWire(async (wire) => {
      const failure = failureOf(await exchangeOver(wire, (await served(streamOf([]))).url));
      expect(failure).toMatchObject({ kind: "cut", message: expect.stringContaining("began") });
    }));

  test("a server that hangs up before it answers is a network error", () =>
    everyWire(async (wire) => {
      const server = await served({ end: "refuse" });
      const result = await exchangeOver(wire, server.url);
      expect(failureOf(result)).toMatchObject({ kind: "network", status: undefined });
      expect(result.responses).toEqual([]);
      expect(server.requests).toHaveLength(1);
    }));

  test("a port where nobody listens is a network error, and is named", () =>
    everyWire(async (wire) => {
      const server = await served({});
      await server.close();
      const failure = failureOf(await exchangeOver(wire, server.url));
      expect(failure).toMatchObject({ kind: "network", message: expect.stringContaining("ECONNREFUSED") });
    }));
});

describe("the end of an answer", () => {
  test("a connection that stays open or breaks after the answer changes nothing", () =>
    everyWire(async (wire) => {
      for (const end of ["hang", "cut"] as const) {
        const { error, message } = await exchangeOver(wire, (await served({ ...wire.text(), end })).url);
        expect(error).toBeUndefined();
        expect(message).toMatchObject({ content: [{ type: "text", text: "All." }], stopReason: "stop" });
      }
    }));

  test("one connection serves later requests", () =>
    everyWire(async (wire) => {
      const ports = new Set<number | undefined>();
      const { url } = await listening((request, response) => {
        ports.add(request.socket.remotePort);
        response.writeHead(200, sse);
        response.write((wire.text().chunks ?? []).join(""));
        afterTurns(20, () => response.end());
      });
      for (let count = 0; count < 8; count++) {
        expect((await exchangeOver(wire, url)).error).toBeUndefined();
        await new Promise<void>((resolve) => afterTurns(60, resolve));
      }
      expect(ports.size).toBeLessThan(8);
    }));

  test("no listener stays on the caller's signal", () =>
    everyWire(async (wire) => {
      const { signal } = new AbortController();
      const { url } = await served(wire.text());
      await exchangeOver(wire, url, { signal });
      await exchangeOver(wire, url, { signal, onResponse: () => Promise.reject(new Error("x")) });
      expect(getEventListeners(signal, "abort").length).toBeLessThanOrEqual(1);
    }));
});

describe("requests", () => {
  test("a key that no header can hold is not shown", () =>
    everyWire(async (wire) => {
      const server = await served({});
      for (const apiKey of ["secret\nkey", "secret-ключ"]) {
        const result = await exchangeOver(wire, server.url, { apiKey });
        const failure = { kind: "refused", code: "request_not_sent", status: undefined };
        expect(failureOf(result)).toMatchObject(failure);
        const { error } = result as { error: Error };
        expect(`${error.message} ${String(error.cause)}`).not.toContain("secret");
      }
      expect(server.requests).toHaveLength(0);
    }));

  test("an invalid address is named", () =>
    everyWire(async (wire) => {
      // An empty address is OpenAI's own for its SDK.
      for (const address of wire === anthropic ? ["nowhere", "", "/v1"] : ["nowhere"]) {
        const failure = failureOf(await exchangeOver(wire, address));
        expect(failure).toMatchObject({ kind: "refused", code: "request_not_sent" });
        expect(failure.message).toContain("Invalid URL");
      }
    }));

  test("a hook may replace the payload; another gets the answer's status and headers, also of a refusal", () =>
    everyWire(async (wire) => {
      const reply = wire.text();
      const server = await served({ ...reply, headers: { ...reply.headers, "X-Request-Id": "r-1" } });
      const onPayload = async (payload: unknown) => ({ ...(payload as object), temperature: 0 });
      const { responses } = await exchangeOver(wire, server.url, { onPayload });
      expect(server.requests[0]?.body).toMatchObject({ model: wire.model.id, stream: true, temperature: 0 });
      expect(responses).toMatchObject([{ status: 200, headers: { "x-request-id": "r-1" } }]);
      const refusing = await served({ status: 400, headers: { "X-Request-Id": "r-2" }, chunks: ["{}"] });
      const refused = await exchangeOver(wire, refusing.url);
      expect(refused.responses).toMatchObject([{ status: 400, headers: { "x-request-id": "r-2" } }]);
    }));

  test("an error of the response hook is thrown as it is", () =>
    everyWire(async (wire) => {
      const problem = new Error("listener");
      const onResponse = () => Promise.reject(problem);
      expect((await exchangeOver(wire, (await served(wire.text())).url, { onResponse })).error).toBe(problem);
    }));
});

describe("an abort", () => {
  const reason = new Error("the user pressed Esc");

  test("before the request sends nothing", () =>
    everyWire(async (wire) => {
      const server = await served(streamOf([]));
      const result = await exchangeOver(wire, server.url, { signal: AbortSignal.abort(reason) });
      expect(result.error).toBe(reason);
      expect(server.requests).toHaveLength(0);
    }));

  test("ends the wait for the head, and for the first event", () =>
    everyWire(async (wire) => {
      const early = new AbortController();
      const silent = await loopbackServer(() => {
        early.abort(reason);
        return new Promise(() => {});
      });
      onTestFinished(() => silent.close());
      expect((await exchangeOver(wire, silent.url, { signal: early.signal })).error).toBe(reason);
      const late = new AbortController();
      const onResponse = async () => late.abort(reason);
      const { url } = await served(streamOf([], "hang"));
      expect((await exchangeOver(wire, url, { signal: late.signal, onResponse })).error).toBe(reason);
    }));

  test("between two pieces keeps the first", () =>
    everyWire(async (wire) => {
      const { url } = await served({ ...wire.half(), end: "hang" });
      const aborter = new AbortController();
      const result = await exchangeOver(wire, url, { signal: aborter.signal }, () => aborter.abort(reason));
      expect(result.error).toBe(reason);
      expect(result.message.content).toEqual([{ type: "text", text: "Half" }]);
    }));

  test("closes the server's connection, as a break and a failing hook do", () =>
    everyWire(async (wire) => {
      for (const how of ["abort", "break", "a failing hook"] as const) {
        const aborter = new AbortController();
        const { server, url } = await listening((_request, response) => {
          response.writeHead(200, sse);
          for (const chunk of wire.half().chunks ?? []) response.write(chunk);
        });
        const closed = once(server, "request").then(([, response]) => once(response, "close"));
        const onResponse = async () => {
          if (how === "a failing hook") throw new Error("the hook failed");
        };
        await exchangeOver(wire, url, { signal: aborter.signal, onResponse }, () => {
          if (how === "break") throw new Error("the reader had enough");
          aborter.abort(reason);
        });
        await closed;
      }
    }));
});
