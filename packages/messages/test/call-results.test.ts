import fc from "fast-check";
import { expect, test } from "vitest";
import { CallPairs } from "../src/host.ts";
import type { Message } from "../src/index.ts";

/** `a,b` is an answer that calls a and b; `=a` is a result of a; `-` is a prompt. */
function messagesOf(notation: string): Message[] {
  return notation.split(" ").map((word) => {
    if (word === "-") return { role: "user", content: "Go on.", timestamp: 0 };
    if (word.startsWith("=")) return { role: "toolResult", toolCallId: word.slice(1) } as Message;
    const content = word
      .split(",")
      .map((id) => ({ type: "toolCall", id, name: `tool-${id}`, arguments: {} }));
    return { role: "assistant", content } as unknown as Message;
  });
}

/** The results with their calls. */
function callResults(messages: readonly Message[]) {
  const pairs = new CallPairs();
  return messages.flatMap((message, resultIndex) => {
    const called = pairs.add(message);
    return called === undefined ? [] : [{ ...called, resultIndex }];
  });
}

const calls = [
  ["a =a", "0-1"],
  ["a,b =b =a", "0-1 0-2"],
  ["a - - =a", "0-3"],
  ["a =a =a", "0-1 0-2"],
  ["a =a a =a", "0-1 2-3"],
  ["a b =a", "0-2"],
  ["=a a", ""],
  ["- a", ""],
] as const;
test("pairs calls with their results", () => {
  for (const [notation, pairs] of calls) {
    const found = callResults(messagesOf(notation));
    expect
      .soft(found.map(({ callIndex, resultIndex }) => `${callIndex}-${resultIndex}`).join(" "), notation)
      .toBe(pairs);
  }
});

test("skips damaged messages and blocks", () => {
  const damaged = [
    null,
    {},
    { role: "assistant" },
    { role: "assistant", content: [null, { type: "toolCall" }] },
  ];
  const messages = [...damaged, { role: "toolResult" }, ...messagesOf("a =a")] as Message[];
  expect(callResults(messages)).toMatchObject([{ call: { id: "a" }, callIndex: 5, resultIndex: 6 }]);
});

const history = fc
  .array(fc.constantFrom("a", "b", "c", "a,b", "b,c", "=a", "=b", "=c", "-"), { minLength: 1, maxLength: 30 })
  .map((words) => messagesOf(words.join(" ")));

function callsOf(message: Message): string[] {
  return message.role === "assistant"
    ? message.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []))
    : [];
}

test("a result belongs to the latest earlier call with its id", () => {
  fc.assert(
    fc.property(history, (messages) => {
      const expected = messages.flatMap((message, resultIndex) => {
        if (message.role !== "toolResult") return [];
        const earlier = messages.slice(0, resultIndex);
        const callIndex = earlier.findLastIndex((each) => callsOf(each).includes(message.toolCallId));
        return callIndex < 0 ? [] : [[message.toolCallId, callIndex, resultIndex]];
      });
      const pairs = callResults(messages);
      expect(pairs.map(({ call, callIndex, resultIndex }) => [call.id, callIndex, resultIndex])).toEqual(
        expected,
      );
    }),
  );
});

test("later messages do not change the pairs of earlier ones", () => {
  fc.assert(
    fc.property(history, fc.nat(30), (messages, count) => {
      const all = callResults(messages).filter(({ resultIndex }) => resultIndex < count);
      expect(callResults(messages.slice(0, count))).toEqual(all);
    }),
  );
});
