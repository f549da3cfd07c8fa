import type { AssistantMessage } from "@bonsai-agent/messages";
import { emptyUsage } from "@bonsai-agent/messages";
import { finalEvent, type StreamEvent } from "@bonsai-agent/models";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  createAssistantMessageEventStream,
  fromPiEvents,
  type PiStreamEvent,
  piStream,
} from "../src/models/streams.ts";
import { all } from "./all.ts";

type Block =
  | { kind: "text" | "thinking"; pieces: string[] }
  | { kind: "call"; name: string; pieces: string[] };

const pieces = fc.array(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 });
const blocks = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constantFrom("text" as const, "thinking" as const), pieces }),
    fc.record({ kind: fc.constant("call" as const), name: fc.constant("read"), pieces }),
  ),
  { maxLength: 5 },
);

function message(stopReason = "stop"): AssistantMessage {
  return {
    role: "assistant",
    content: [],
    api: "scripted",
    provider: "scripted",
    model: "test",
    usage: emptyUsage(),
    stopReason,
    timestamp: 0,
  };
}

/** Our events for an answer with these blocks. */
async function* events(of: readonly Block[]): AsyncIterable<StreamEvent> {
  const answer = message();
  yield { type: "start", message: answer };
  for (const [contentIndex, block] of of.entries()) {
    if (block.kind === "call") {
      const toolCall = { type: "toolCall" as const, id: `c${contentIndex}`, name: block.name, arguments: {} };
      answer.content.push(toolCall);
      for (const delta of block.pieces) yield { type: "tool_call", contentIndex, delta, message: answer };
      yield { type: "tool_call", contentIndex, delta: "", toolCall, message: answer };
      continue;
    }
    const text = block.pieces.join("");
    answer.content.push(
      block.kind === "text" ? { type: "text", text } : { type: "thinking", thinking: text },
    );
    for (const delta of block.pieces) yield { type: block.kind, contentIndex, delta, message: answer };
  }
  yield { type: "done", message: answer };
}

test("an answer that goes over into pi's events and back is the same", async () => {
  await fc.assert(
    fc.asyncProperty(blocks, async (answer) => {
      const expected = await all(events(answer));
      expect(await all(fromPiEvents(piStream(events(answer))))).toEqual(expected);
    }),
  );
});

test("each block begins and ends once, with its whole content at its end", async () => {
  await fc.assert(
    fc.asyncProperty(blocks, async (answer) => {
      const given = await all(piStream(events(answer)));
      const of = (suffix: string) => given.filter(({ type }) => type.endsWith(suffix));
      expect(of("_start")).toHaveLength(answer.length);
      expect(of("_end")).toHaveLength(answer.length);
      const ends = of("_end").flatMap((event) => ("content" in event ? [event.content] : []));
      expect(ends).toEqual(answer.flatMap((block) => (block.kind === "call" ? [] : [block.pieces.join("")])));
    }),
  );
});

test("a stream has its result, read or not, and can be read again", async () => {
  const stream = createAssistantMessageEventStream();
  const answer = message();
  stream.push({ type: "start", partial: answer });
  stream.push({ type: "done", reason: "stop", message: answer });
  stream.push({ type: "start", partial: answer });
  expect(await stream.result()).toBe(answer);
  expect((await all(stream)).map(({ type }) => type)).toEqual(["start", "done"]);
  expect((await all(stream)).map(({ type }) => type)).toEqual(["start", "done"]);
});

test("a stream without an answer says so", async () => {
  const stream = createAssistantMessageEventStream();
  stream.end();
  expect(await all(stream)).toEqual([]);
  await expect(stream.result()).rejects.toThrow("ended without an answer");
});

async function* streamed(...list: PiStreamEvent[]): AsyncIterable<PiStreamEvent> {
  yield* list;
}

test("events can be promised; what is no stream is named", async () => {
  const stream = createAssistantMessageEventStream();
  stream.push({ type: "done", reason: "stop", message: message() });
  expect(await all(fromPiEvents(Promise.resolve(stream)))).toEqual([{ type: "done", message: message() }]);
  await expect(all(fromPiEvents(Promise.reject(new Error("no key"))))).rejects.toThrow("no key");
  await expect(all(fromPiEvents(undefined as never))).rejects.toThrow("did not return a stream of events");
});

test("a failure of a provider is sorted, an abort is none", async () => {
  const failed = { ...message("error"), errorMessage: "prompt is too long: 210000 tokens > 200000 maximum" };
  const { type, failure } = (await finalEvent(
    fromPiEvents(streamed({ type: "error", reason: "error", error: failed })),
  )) as { type: string; failure?: { kind: string } };
  expect([type, failure?.kind]).toEqual(["error", "inputTooLong"]);
  const aborted = await finalEvent(
    fromPiEvents(streamed({ type: "error", reason: "aborted", error: message("aborted") })),
  );
  expect(aborted).toEqual({ type: "error", message: message("aborted") });
});
