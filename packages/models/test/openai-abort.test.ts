import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { loopbackServer } from "@bonsai-agent/testkit";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { delta, exchange, streamOf } from "./openai-exchange.ts";
import { protocols } from "./openai-protocols.ts";
import { served } from "./served.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

describe.each(protocols)("abort in %s", (name, model) => {
  const reason = new Error("the user pressed Esc");
  const half =
    name === "chat"
      ? delta({ content: "Half" })
      : { type: "response.output_text.delta", output_index: 0, delta: "Half" };

  test("before the request: nothing is sent", async () => {
    const server = await served(streamOf([]));
    const result = await exchange(server.url, { model, signal: AbortSignal.abort(reason) });
    expect(result.error).toBe(reason);
    expect(server.requests).toHaveLength(0);
  });

  test("before the head of the answer", async () => {
    const aborter = new AbortController();
    const server = await loopbackServer(() => {
      aborter.abort(reason);
      return new Promise(() => {});
    });
    onTestFinished(() => server.close());
    const result = await exchange(server.url, { model, signal: aborter.signal });
    expect(result.error).toBe(reason);
  });

  test("during silence after the head", async () => {
    const { url } = await served(streamOf([], "hang"));
    const aborter = new AbortController();
    const onResponse = async () => aborter.abort(reason);
    const result = await exchange(url, { model, signal: aborter.signal, onResponse });
    expect(result.error).toBe(reason);
  });

  test("between two pieces: what had come stays", async () => {
    const { url } = await served(streamOf([half, half], "hang"));
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
