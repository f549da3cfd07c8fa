import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { finalEvent, ModelClient } from "../src/model-client.ts";
import type { StreamEvent } from "../src/model-request.ts";
import { ProviderError, type ProviderErrorOptions } from "../src/provider.ts";
import { turnOf } from "./openai-exchange.ts";
import { model, refuses, type Step, says, stage } from "./staged-client.ts";

describe("keys", () => {
  const locked = { ...model, apiKeyEnv: "LAB_KEY" };
  test("a missing one is named, and nothing is sent", async () => {
    const { calls, ask } = stage([says("yes")], { keys: { key: () => undefined } });
    const final = await ask({ model: locked });
    expect(final).toMatchObject({
      type: "error",
      failure: { kind: "other", code: "key_missing", retryable: false },
    });
    expect(final.message.errorMessage).toMatch(/No API key for lab.*LAB_KEY.*bonsai login lab/);
    expect(calls).toHaveLength(0);
  });
  test("a server on this machine wants none", async () => {
    const { calls, ask } = stage([says("yes")]);
    expect((await ask({ model: { ...locked, baseUrl: "http://127.0.0.1:1234/v1" } })).type).toBe("done");
    expect(calls[0]!.apiKey).toBeUndefined();
  });
  test("one that the provider repeats is not shown", async () => {
    const { ask } = stage([refuses("no user with the key open-sesame", { status: 401 })], {
      keys: { key: () => "open-sesame" },
    });
    const final = await ask({ model: locked });
    expect(JSON.stringify(final)).not.toContain("open-sesame");
  });
  test("a key source that throws is the stream's error", async () => {
    const { ask } = stage([says("yes")], {
      keys: {
        key: () => {
          throw new Error("auth.json is damaged");
        },
      },
    });
    expect(await ask()).toMatchObject({ type: "error", failure: { message: "auth.json is damaged" } });
  });
});

test("an unknown protocol is named with those that are spoken", async () => {
  const client = new ModelClient();
  const odd = { ...model, api: "telegraph" as never };
  const final = await finalEvent(client.stream(turnOf(odd)));
  expect(final).toMatchObject({ failure: { code: "protocol_unknown" } });
  expect(final.message.errorMessage).toContain("openai-chat");
});

test("a provider is made once for a client, and again after it could not be made", async () => {
  let made = 0;
  const { ask } = stage([], {
    providers: {
      scripted: async () => {
        made += 1;
        if (made === 1) throw new Error("not yet");
        return { stream: (call, answer) => says("yes")(call, answer) };
      },
    },
  });
  expect((await ask()).type).toBe("error");
  expect((await ask()).type).toBe("done");
  expect((await ask()).type).toBe("done");
  expect(made).toBe(2);
});

describe("the stream never throws and ends exactly once", () => {
  const thrown = fc.oneof(
    fc.anything(),
    fc.constantFrom<unknown>(
      new Error("prompt is too long"),
      new TypeError("no"),
      undefined,
      null,
      Object.create(null),
    ),
    fc
      .constantFrom<ProviderErrorOptions["kind"]>("refused", "network", "cut", "silence", "garbled")
      .map(
        (kind) => new ProviderError({ kind, message: kind, status: kind === "refused" ? 500 : undefined }),
      ),
  );
  const act = fc.oneof(
    fc.record({
      does: fc.constant("yield" as const),
      value: fc.oneof(fc.anything(), fc.constantFrom({ type: "done" }, { type: "error" }, { type: "start" })),
    }),
    fc.record({ does: fc.constant("throw" as const), value: thrown }),
    fc.record({ does: fc.constant("say" as const), value: fc.string() }),
    fc.record({ does: fc.constant("call" as const), value: fc.string() }),
    fc.record({ does: fc.constant("abort" as const), value: fc.constant(undefined) }),
  );
  test("whatever a provider does", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(act, { maxLength: 5 }), { minLength: 1, maxLength: 4 }),
        async (attempts) => {
          const abort = new AbortController();
          const steps = attempts.map(
            (acts): Step =>
              async function* (_call, answer) {
                for (const { does, value } of acts) {
                  if (does === "yield") yield value as StreamEvent;
                  if (does === "throw") throw value;
                  if (does === "say") yield answer.text(value);
                  if (does === "call")
                    yield answer.callArguments(answer.beginCall({ id: "a", name: "read" }), value);
                  if (does === "abort") abort.abort();
                }
              },
          );
          const { client, request } = stage(steps);
          const seen: StreamEvent[] = [];
          for await (const event of client.stream(request({ signal: abort.signal }))) seen.push(event);
          const ends = seen.filter(({ type }) => type === "done" || type === "error");
          expect(ends).toHaveLength(1);
          expect(seen.at(-1)).toBe(ends[0]);
          expect(seen[0]?.type).toBe("start");
          const [end] = ends;
          if (end?.type === "error") {
            expect(end.message.stopReason).toBe(end.failure === undefined ? "aborted" : "error");
            expect(end.failure === undefined || typeof end.message.errorMessage === "string").toBe(true);
          }
        },
      ),
    );
  });
  test.each<[string, () => unknown]>([
    ["is no stream", () => undefined],
    [
      "throws at once",
      () => {
        throw new Error("no");
      },
    ],
    [
      "throws in next",
      () => ({
        [Symbol.asyncIterator]: () => ({
          next: () => {
            throw new Error("no");
          },
        }),
      }),
    ],
    ["gives nonsense", () => ({ [Symbol.asyncIterator]: () => ({ next: () => 7 }) })],
  ])("a provider that %s", async (_name, stream) => {
    const { ask } = stage([], { providers: { scripted: async () => ({ stream }) as never } });
    expect((await ask()).type).toMatch(/done|error/);
  });
  test("a listener that throws is the stream's error", async () => {
    const { ask } = stage([refuses("overloaded", { status: 529 })]);
    const onNotice = () => {
      throw new Error("the listener fell");
    };
    expect(await ask({ onNotice })).toMatchObject({
      type: "error",
      failure: { message: "the listener fell" },
    });
  });
});
