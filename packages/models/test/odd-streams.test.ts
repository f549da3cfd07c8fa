import { messageSchema } from "@bonsai-agent/messages/schemas";
import { everyRow, type WireName, wires } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { ModelClient } from "../src/index.ts";
import { type WireEvents, wireServer } from "./wire-server.ts";

const { ask } = wireServer();

/** What no user should read. */
const BARE =
  /TypeError|RangeError|is not a function|is not iterable|Cannot (read|destructure|convert)|undefined/;

type Path = (string | number)[];

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...path, key]))];
}

function changed(value: unknown, [key, ...rest]: Path, put: unknown): unknown {
  if (key === undefined) return put;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<
    string | number,
    unknown
  >;
  copy[key] = changed(copy[key], rest, put);
  return copy;
}

const names = Object.keys(wires) as WireName[];

const everyWire = everyRow(names);
const soundAnswer = (api: WireName) =>
  wires[api].answer({
    thinking: "Hm.",
    text: "Größere Bäume.",
    calls: [{ id: "call_1", name: "ls", arguments: '{"path":"."}' }],
  });
const odd = fc.oneof(
  fc.constantFrom<unknown>(
    ...[null, 5, -1, "x", "", [], {}, [null], [[]], true, { length: -1 }, { type: null }],
  ),
  fc.jsonValue(),
);
const change = fc.tuple(fc.nat(), fc.nat(), odd, fc.constantFrom("put", "twice", "drop", "swap"));

test("law: an answer of damaged events is sound, or its failure is classified", () =>
  everyWire(async (api) => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        let events: WireEvents = soundAnswer(api);
        for (const [at, where, put, how] of changes) {
          const index = at % events.length;
          const event = events[index]!;
          const paths = pathsOf(event.data);
          const data = changed(event.data, paths[where % paths.length]!, put);
          if (how === "put") events = events.with(index, { ...event, data: data ?? "null" });
          if (how === "twice") events = events.toSpliced(index, 0, event);
          if (how === "drop" && events.length > 1) events = events.toSpliced(index, 1);
          if (how === "swap") events = events.toSpliced(index, 1).toSpliced(where % events.length, 0, event);
        }
        const { final } = await ask(api, events);
        expect(messageSchema.safeParse(final.message).error).toBeUndefined();
        expect(JSON.parse(JSON.stringify(final.message))).toEqual(final.message);
        if (final.type === "done") return;
        expect(final.failure?.kind).toBeDefined();
        expect(final.failure?.message).not.toMatch(BARE);
      }),
    );
  }));

test("a part of another type breaks the stream, and the request is sent again", () =>
  everyWire((api) =>
    everyRow([null, 5, "x", [], [null]])(async (part) => {
      const [first, ...rest] = soundAnswer(api);
      const asked = await ask(api, [first!, wires[api].odd(part), ...rest]);
      if (api !== "openai-chat" && part !== null) return;
      expect(asked.final).toMatchObject({ type: "error", failure: { retryable: true } });
      expect(asked.final).not.toMatchObject({ failure: { message: expect.stringMatching(BARE) } });
      expect(asked.requests).toBe(2);
    }),
  ));

test("an event that comes twice makes no second call of the first", () =>
  everyWire(async (api) => {
    const { final } = await ask(
      api,
      soundAnswer(api).flatMap((event) => [event, event]),
    );
    const calls = final.message.content.filter(({ type }) => type === "toolCall");
    if (final.type === "done") expect(calls.length).toBe(1);
  }));

test("an impossible usage is ignored with one notice", () =>
  everyWire((api) =>
    everyRow([
      ["1e15", { input: 1e15, output: 10 }],
      ["negative", { input: -5_000, output: 10 }],
      ["a text", { input: "NaN", output: 10 }],
      ["a fraction", { input: 1_000.5, output: 10 }],
      ["above ten times the estimate", { input: 300_000, output: 10 }],
      ["an output above all caps", { input: 100, output: 900_000 }],
    ])(async ([, usage]) => {
      const text = "word ".repeat(20_000);
      const { final, notices } = await ask(api, wires[api].answer({ text: "Well.", usage }), text);
      expect(final).toMatchObject({ type: "done", message: { content: [{ text: "Well." }] } });
      expect(final.message.usage).toMatchObject({ input: 0, output: 0, totalTokens: 0, cost: { total: 0 } });
      expect(notices).toMatchObject([{ type: "usage_ignored", provider: "local" }]);
    }),
  ));

test("a usage within ten times of the estimate is believed", () =>
  everyWire((api) =>
    everyRow([380_000, 480_000])(async (input) => {
      const answer = wires[api].answer({ text: "Well.", usage: { input, output: 10 } });
      const { final, notices } = await ask(api, answer, "word ".repeat(60_000));
      expect(final).toMatchObject({ type: "done", message: { usage: { input } } });
      expect(notices).toEqual([]);
    }),
  ));

test("a usage above the window is a silent overflow only if the estimate allows it", () =>
  everyWire(async (api) => {
    const answer = wires[api].answer({ text: "Well.", usage: { input: 480_000, output: 10 } });
    const { final } = await ask(api, answer, "word ".repeat(350_000));
    expect(final).toMatchObject({ failure: { kind: "inputTooLong", inputTokens: 480_000 } });
  }));

test("a few words may have the server's own instructions before them", () =>
  everyWire(async (api) => {
    const { final } = await ask(
      api,
      wires[api].answer({ text: "Hi.", usage: { input: 15_000, output: 10 } }),
    );
    expect(final.message.usage.input).toBe(15_000);
  }));

test("a server that counts wrong is notified once in a session", async () => {
  const answer = wires["openai-chat"].answer({ text: "x", usage: { input: 1e15, output: 1 } });
  const client = new ModelClient();
  const reportedTokens = 1e15;
  const estimatedTokens = expect.any(Number);
  const ignored = {
    type: "usage_ignored",
    provider: "local",
    modelId: "qwen3",
    reportedTokens,
    estimatedTokens,
  };
  const notices = [];
  for (let turn = 0; turn < 3; turn += 1)
    notices.push(...(await ask("openai-chat", answer, "Hello", client)).notices);
  expect(notices).toEqual([ignored]);
});
