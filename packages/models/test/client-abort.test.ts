import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import type { StreamEvent } from "../src/model-request.ts";
import { refuses, type Step, says, stage } from "./staged-client.ts";

describe("abort", () => {
  test("before the request sends nothing", async () => {
    const { calls, ask } = stage([says("yes")]);
    const final = await ask({ signal: AbortSignal.abort() });
    expect(final).toMatchObject({ type: "error", message: { stopReason: "aborted" } });
    expect(final).not.toHaveProperty("failure");
    expect(calls).toHaveLength(0);
  });
  test("in the middle keeps what had come, also when the provider ignores the signal", async () => {
    const abort = new AbortController();
    const deaf: Step = async function* (_call, answer) {
      yield answer.text("half");
      await new Promise(() => {});
    };
    const { client, request, calls } = stage([deaf]);
    const seen: StreamEvent[] = [];
    for await (const event of client.stream(request({ signal: abort.signal }))) {
      seen.push(event);
      if (event.type === "text") queueMicrotask(() => abort.abort());
    }
    expect(seen.map(({ type }) => type)).toEqual(["start", "text", "error"]);
    expect(seen.at(-1)).toMatchObject({ message: { stopReason: "aborted", content: [{ text: "half" }] } });
    expect(calls[0]!.signal.aborted).toBe(true);
  });
  test("while the reader handles an event: the provider is not asked for more", async () => {
    const abort = new AbortController();
    const deaf: Step = async function* (_call, answer) {
      yield answer.text("half");
      await new Promise(() => {});
    };
    const { client, request } = stage([deaf]);
    const seen: string[] = [];
    for await (const event of client.stream(request({ signal: abort.signal }))) {
      seen.push(event.type);
      if (event.type === "text") {
        abort.abort();
        await Promise.resolve();
      }
    }
    expect(seen).toEqual(["start", "text", "error"]);
  });
  test("during the wait for a retry begins no other attempt", async () => {
    const abort = new AbortController();
    const { client, request, calls } = stage([refuses("Overloaded", { status: 529 }), says("yes")], {
      sleep: async () => abort.abort(),
    });
    const seen: string[] = [];
    for await (const event of client.stream(request({ signal: abort.signal }))) seen.push(event.type);
    expect(seen).toEqual(["start", "error"]);
    expect(calls).toHaveLength(1);
  });
  test("leaves no listener on a signal that lives longer", async () => {
    const abort = new AbortController();
    const { ask } = stage([refuses("Overloaded", { status: 529 }), says("yes")], {
      sleep: undefined,
      retry: { baseDelayMs: 1 },
    });
    expect((await ask({ signal: abort.signal })).type).toBe("done");
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
  });
  test("a reader that stops lets the provider clean up", async () => {
    const { promise: cleaned, resolve } = Promise.withResolvers<string>();
    const tidy: Step = async function* (_call, answer) {
      try {
        yield answer.text("half");
        yield answer.text("whole");
      } finally {
        resolve("cleaned");
      }
    };
    const { client, request } = stage([tidy]);
    for await (const event of client.stream(request())) if (event.type === "text") break;
    expect(await cleaned).toBe("cleaned");
  });
  test("a reader that stops also stops the provider", async () => {
    const { client, request, calls } = stage([says("yes")]);
    for await (const event of client.stream(request())) if (event.type === "text") break;
    expect(calls[0]!.signal.aborted).toBe(true);
  });
});
