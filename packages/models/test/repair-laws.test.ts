import type { Message } from "@bonsai-agent/messages";
import { history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { answer, call, image, repaired, result, text, thought, user } from "./repaired-messages.ts";

/** What providers refuse, looked for in another way than the passes do. */
function refusals(messages: readonly Message[]): string[] {
  const found: string[] = [];
  const ids = new Set<string>();
  const spoken = messages.filter(({ role }) => role !== "system");
  if (spoken[0]?.role === "assistant" || spoken[0]?.role === "toolResult")
    found.push("begins without a user");
  for (const [index, message] of messages.entries()) {
    if (!JSON.stringify(message).isWellFormed() || /\\ud[89a-f]/i.test(JSON.stringify(message)))
      found.push("surrogate");
    if ("content" in message && (message.content === "" || JSON.stringify(message.content) === "[]"))
      found.push("empty");
    if (message.role === "assistant") {
      const calls = message.content.filter((block) => block.type === "toolCall");
      for (const { id } of calls) {
        if (ids.has(id)) found.push(`id ${id} twice`);
        ids.add(id);
      }
      const behind = messages.slice(index + 1, index + 1 + calls.length);
      const answered = behind.map((next) => (next.role === "toolResult" ? next.toolCallId : next.role));
      if (
        answered.toSorted().join() !==
        calls
          .map(({ id }) => id)
          .toSorted()
          .join()
      )
        found.push("unanswered");
      if (message.stopReason === "error") found.push("failed answer");
    }
    if (message.role === "toolResult" && !ids.has(message.toolCallId)) found.push("no call");
  }
  const results = messages.filter(({ role }) => role === "toolResult");
  if (results.length !== ids.size) found.push("as many results as calls");
  return found;
}

const content = fc.array(
  fc.oneof(
    fc.constantFrom(
      call("a"),
      call("b"),
      call("c"),
      text("said"),
      text(""),
      thought("hm"),
      thought("hm", "sig"),
    ),
    fc.constantFrom<unknown>(
      null,
      7,
      { type: "odd" },
      { type: "toolCall" },
      { type: "text", text: "\ud800" },
      image(),
    ),
  ),
  { maxLength: 4 },
);

const anyMessage = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .record({ content, stopReason: fc.constantFrom("stop", "error", "aborted"), timestamp: fc.nat(9) })
      .map((change) => ({ ...answer([]), ...change })),
  },
  { weight: 3, arbitrary: fc.constantFrom("a", "b", "c", "d", "").map((id) => result(id)) },
  { weight: 2, arbitrary: content.map((blocks) => ({ role: "user", content: blocks, timestamp: 1 })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      user("hi"),
      user(""),
      null,
      undefined,
      3,
      {},
      { role: "user" },
      { role: "assistant" },
      { role: "toolResult" },
      { role: "compactionSummary", summary: "s", timestamp: 5 },
    ),
  },
  { weight: 1, arbitrary: fc.anything() },
);

const anyDrop = fc.constantFrom(undefined, 0, Number.POSITIVE_INFINITY);

describe("laws", () => {
  test("repaired messages are sound, and sound messages come back as the same array", () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 12 }), anyDrop, (messages, dropThinkingUpToMs) => {
        const { messages: sound } = repaired(messages, { dropThinkingUpToMs });
        expect(refusals(sound)).toEqual([]);
        const again = repaired(sound, { dropThinkingUpToMs });
        expect(again.messages).toBe(sound);
        expect(again.repairs).toEqual([]);
      }),
    );
  });
  test("the projections of random sessions lose no text and no result", () => {
    fc.assert(
      fc.property(treeArbitrary(), (notation) => {
        const items = history(notation).session.projection().items;
        const messages = items.map((item) => item.message);
        const { messages: sound, repairs } = repaired(messages);
        expect(refusals(sound)).toEqual([]);
        if (repairs.length === 0) expect(sound).toBe(messages);
        const told = JSON.stringify(sound);
        for (const message of messages) {
          if (message.role === "assistant" && message.stopReason === "error") continue;
          for (const block of "content" in message && Array.isArray(message.content) ? message.content : [])
            if (block.type === "text") expect(told).toContain(JSON.stringify(block.text.trim()).slice(1, -1));
        }
      }),
    );
  });
  test("the input is not changed", () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 8 }), (messages) => {
        const before = structuredClone(messages);
        repaired(messages);
        expect(messages).toEqual(before);
      }),
    );
  });
});
