import { getEventListeners, once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { everyRow, type LoopbackReply, type LoopbackServer, loopbackServer } from "@bonsai-agent/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { callBlock, exchange, messageEnd, messageStart, streamOf, textBlock } from "./anthropic-exchange.ts";
import { failureOf } from "./provider-exchange.ts";

let server: LoopbackServer | undefined;

afterEach(async () => {
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

describe("broken connections", () => {
  const calling = [
    messageStart(),
    ...callBlock(0, "toolu_a", "write", '{"path":"a.ts","text":"ha').slice(0, -1),
  ];

  test("a stream that ends in the middle of a call is cut", () =>
    everyRow(["cut", "close"] as const)(async (end) => {
      const url = await serve(streamOf(calling, end));
      const result = await exchange(url);
      expect(failureOf(result)).toMatchObject({ kind: "cut", status: undefined });
      expect(result.message.content).toEqual([
        { type: "toolCall", id: "toolu_a", name: "write", arguments: {} },
      ]);
      expect(result.events.some((event) => event.type === "tool_call" && event.toolCall)).toBe(false);
    }));

  test("an answer without its last event is cut, however complete it looks", async () => {
    const events = [messageStart(), ...textBlock(0, "All."), ...messageEnd("end_turn").slice(0, 1)];
    const result = await exchange(await serve(streamOf(events)));
    expect(failureOf(result)).toMatchObject({ kind: "cut", message: expect.stringContaining("complete") });
  });

  test("a stream without any event is cut", async () => {
    const result = await exchange(await serve(streamOf([])));
    expect(failureOf(result)).toMatchObject({ kind: "cut", message: expect.stringContaining("began") });
  });

  test("a server that hangs up before it answers is a matter of the network", async () => {
    const result = await exchange(await serve({ end: "refuse" }));
    expect(failureOf(result)).toMatchObject({ kind: "network", status: undefined });
    expect(result.responses).toEqual([]);
    expect(server?.requests).toHaveLength(1);
  });

  test("a port where nobody listens is a matter of the network, and is named", async () => {
    const url = await serve({});
    await server?.close();
    const failure = failureOf(await exchange(url));
    expect(failure.kind).toBe("network");
    expect(failure.message).toContain("ECONNREFUSED");
  });
});

describe("the end of an answer", () => {
  const whole = [messageStart(), ...textBlock(0, "All."), ...messageEnd("end_turn")];

  test("a connection that stays open or breaks after the answer changes nothing", () =>
    everyRow(["hang", "cut"] as const)(async (end) => {
      const result = await exchange(await serve(streamOf(whole, end)));
      expect(result.error).toBeUndefined();
      expect(result.message).toMatchObject({ content: [{ type: "text", text: "All." }], stopReason: "stop" });
    }));

  test("a connection serves later requests", async () => {
    const ports = new Set<number | undefined>();
    const keeping = createServer((request, response) => {
      ports.add(request.socket.remotePort);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write((streamOf(whole).chunks ?? []).join(""));
      afterTurns(100, () => response.end());
    });
    keeping.listen(0, "127.0.0.1");
    await once(keeping, "listening");
    const url = `http://127.0.0.1:${(keeping.address() as AddressInfo).port}`;
    for (let count = 0; count < 8; count++) expect((await exchange(url)).error).toBeUndefined();
    keeping.closeAllConnections();
    keeping.close();
    expect(ports.size).toBeLessThan(8);
  });

  test("no listener stays on the caller's signal", async () => {
    const { signal } = new AbortController();
    const url = await serve(streamOf(whole));
    await exchange(url, { signal });
    await exchange(url, { signal, onResponse: () => Promise.reject(new Error("x")) });
    expect(getEventListeners(signal, "abort").length).toBeLessThanOrEqual(1);
  });
});

describe("requests that cannot be sent", () => {
  test("a key that no header can hold is not shown", () =>
    everyRow(["secret\nkey", "secret-ключ"])(async (apiKey) => {
      const result = await exchange(await serve({}), { apiKey });
      expect(failureOf(result)).toMatchObject({
        kind: "refused",
        code: "request_not_sent",
        status: undefined,
      });
      const { error } = result as { error: Error };
      expect(`${error.message} ${String(error.cause)}`).not.toContain("secret");
      expect(server?.requests).toHaveLength(0);
    }));

  test("an invalid address is named", () =>
    everyRow(["nowhere", "", "/v1"])(async (address) => {
      const failure = failureOf(await exchange(address));
      expect(failure).toMatchObject({ kind: "refused", code: "request_not_sent" });
      expect(failure.message).toContain("Invalid URL");
    }));
});

describe("abort", () => {
  const reason = new Error("the user pressed Esc");

  test("before the request: nothing is sent", async () => {
    const url = await serve(streamOf([]));
    const result = await exchange(url, { signal: AbortSignal.abort(reason) });
    expect(result.error).toBe(reason);
    expect(server?.requests).toHaveLength(0);
  });

  test("during silence after the headers: the reason is thrown", async () => {
    const url = await serve(streamOf([], "hang"));
    const aborter = new AbortController();
    const result = await exchange(url, {
      signal: aborter.signal,
      onResponse: async () => aborter.abort(reason),
    });
    expect(result.error).toBe(reason);
  });

  test("between two pieces: what had come stays", async () => {
    const url = await serve(streamOf([messageStart(), ...textBlock(0, "Half", "more")], "hang"));
    const aborter = new AbortController();
    const result = await exchange(url, { signal: aborter.signal }, () => aborter.abort(reason));
    expect(result.error).toBe(reason);
    expect(result.message.content).toEqual([{ type: "text", text: "Half" }]);
  });

  test.each(["abort", "break"] as const)("on %s the server's connection is closed", async (how) => {
    const aborter = new AbortController();
    const hanging = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const chunk of streamOf([messageStart(), ...textBlock(0, "Half")]).chunks ?? [])
        response.write(chunk);
    });
    hanging.listen(0, "127.0.0.1");
    await once(hanging, "listening");
    const closed = once(hanging, "request").then(([, response]) => once(response, "close"));
    const url = `http://127.0.0.1:${(hanging.address() as AddressInfo).port}`;
    await exchange(url, { signal: aborter.signal }, () => {
      if (how === "break") throw new Error("the reader had enough");
      aborter.abort(reason);
    });
    await closed;
    hanging.close();
  });
});
