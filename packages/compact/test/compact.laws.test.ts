import fc from "fast-check";
import { expect, test } from "vitest";
import { type CompactState, compactMessages } from "../src/index.ts";
import { conversations, renamed } from "./conversations.ts";
import { testFormats } from "./formats.ts";

const settings = {
  window: 20_000,
  keepRecentTokens: 3_000,
  mask: { protectTokens: 2_000, minimumTokens: 500 },
};

/** True for a copy in which only the text of results or media differs. */
function isEditOf(copy: object, original: object): boolean {
  const shape = (message: object) =>
    JSON.stringify(message, (key, value) =>
      key === "output" || (key === "content" && typeof value === "string") ? "" : value,
    );
  return shape(copy) === shape(original) || JSON.stringify(copy).includes("[image left out");
}

for (const { name, write, refusal } of testFormats) {
  test(`${name}: a provider accepts each compacted list, and kept messages are the same objects`, () =>
    fc.assert(
      fc.asyncProperty(conversations, async (conversation) => {
        const messages = write(conversation);
        expect(refusal(messages)).toBeUndefined();
        const before = JSON.stringify(messages);
        const { messages: after, report } = await compactMessages({ messages, format: name, settings });
        expect(JSON.stringify(messages)).toBe(before);
        expect(refusal(after)).toBeUndefined();
        if (report.status === "unchanged") expect(after).toBe(messages);
        const kept = after.filter((message) => messages.includes(message));
        // Masked results are copies; the others are the same objects, in order.
        expect(kept).toEqual(messages.filter((message) => after.includes(message)));
        const added = after.filter((message) => !messages.includes(message));
        const written = added.filter((message) => !messages.some((original) => isEditOf(message, original)));
        expect(written.length).toBeLessThanOrEqual(name === "anthropic" ? 2 : 1);
      }),
    ));

  test(`${name}: two compactions keep each sentence of the user and each irreversible act`, () =>
    fc.assert(
      fc.asyncProperty(conversations, conversations, async (first, second) => {
        const format = name;
        const later = { ...renamed(second), system: undefined };
        const [start, rest] = [write(first), write(later)];
        const once = await compactMessages({ messages: start, format, settings, reason: "manual" });
        const state = JSON.parse(JSON.stringify(once.state)) as CompactState | null;
        const list = [...once.messages, ...rest];
        const twice = await compactMessages({ messages: list, format, settings, state, reason: "manual" });
        expect(refusal(twice.messages)).toBeUndefined();
        const shown = JSON.stringify(twice.messages);
        // A summary of a short span shows less than the record in the state.
        const carried = shown + JSON.stringify(twice.state);
        for (const { sentence, answers } of [...first.turns, ...later.turns]) {
          expect(carried).toContain(sentence);
          for (const { calls, approval } of answers)
            for (const { command, id } of calls) {
              const isDenied = approval === "denied" && id.endsWith("_0") && name === "ai-sdk";
              if (command.startsWith("git push") && !isDenied) expect(carried).toContain(command);
            }
        }
        // The full list with the first state gives the same conversation.
        const full = await compactMessages({
          messages: [...start, ...rest],
          format,
          settings: { window: 1e6 },
          state,
        });
        expect(full.messages).toEqual(list);
      }),
    ));
}
