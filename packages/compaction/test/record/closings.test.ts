import { estimateTokens } from "@bonsai-agent/messages";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Closing } from "../../src/details.ts";
import { clippedClosings, closingLine, lastAnswer, statementsIn } from "../../src/record/statements.ts";
import { ran, said } from "./run-messages.ts";

const user = (text: string) => said("user", text);
const agent = (text: string, entryId = "a") => said("assistant", [{ type: "text", text }], entryId);
const closing = (text: string, more: Partial<Closing> = {}): Closing => ({
  turn: 1,
  entryId: "a",
  text,
  ...more,
});

test("final answers and interim statements are distinguished", () => {
  const { closings } = statementsIn(
    [
      user("Mend it."),
      agent("I look."),
      ...ran("ls"),
      agent("It is mended."),
      user("Good."),
      agent("Thanks."),
    ],
    { turns: 4 },
  );
  expect(closings.map(({ turn, text, isInterim = false }) => [turn, text, isInterim])).toEqual([
    [5, "I look.", true],
    [5, "It is mended.", false],
    [6, "Thanks.", false],
  ]);
});

test("the state of the work is the last statement with a name, a number or enough words, also in the middle of a turn", () => {
  const state = (...texts: string[]) => {
    const messages = [
      user("Mend it."),
      agent("The parser is mended."),
      user("Now the printer."),
      ...texts.map((text) => agent(text)),
    ];
    return lastAnswer(statementsIn(messages, { turns: 0 }, true).closings)?.text;
  };
  const finding = "The printer drops the last line because its buffer is not flushed.";
  expect(state(finding)).toBe(finding);
  expect(state(finding, "Let me look.")).toBe(finding);
  expect(state(finding, "Next: src/flush.ts.")).toBe("Next: src/flush.ts.");
  expect(state("Let me look.")).toBe("The parser is mended.");
});

test("the last of a turn that goes on is said on the way", () => {
  const messages = [user("Mend it."), agent("I look.")];
  expect(statementsIn(messages, { turns: 0 }, true).closings[0]?.isInterim).toBe(true);
  expect(statementsIn(messages).closings[0]?.isInterim).toBeUndefined();
});

test("code, tables and marks of lists and headings are not quoted", () => {
  const code = `\`\`\`ts\n${"const a = parse(b);\n".repeat(12)}\`\`\``;
  const messages = [user("Go."), agent(`## Result\n\n- It works.\n${code}\n- Port 8080.`)];
  const [first] = statementsIn(messages).closings;
  expect(first?.text).toMatch(/^Result\nIt works\.\n\[.*12 lines.*\]\nPort 8080\.$/);
  expect(closingLine(first!)).toMatch(/^1\. agent: Result \/ It works\. \/ \[.*\] \/ Port 8080\.$/);
});

test("a line names the branch that it was said on", () => {
  expect(closingLine(closing("Done.", { turn: 7, isOnBranch: true }))).toBe(
    "7. agent [a] (on another branch): Done.",
  );
});

const sentence = fc.constantFrom(
  "The cache in src/cache.ts is cleared at midnight now.",
  "All 12 tests pass.",
  "Wir nehmen Port 8080.",
  "网关现在监听 8443 端口。",
  "Сделано.",
  "I renamed parseHeader to readHeader because the old name lied.",
  "x ".repeat(900),
);
const closings = fc.array(
  fc.record({ turn: fc.nat(9), entryId: fc.constant("a"), text: sentence, isInterim: fc.boolean() }),
  { maxLength: 20 },
);

test("law: never more than fits, in order, and what is quoted was said", () => {
  const law = fc.property(closings, fc.integer({ min: 0, max: 600 }), (all, maxTokens) => {
    const sorted = all.toSorted((a, b) => a.turn - b.turn);
    const kept = clippedClosings(sorted, { maxTokens });
    expect(kept.reduce((sum, { text }) => sum + estimateTokens(text) + 3, 0)).toBeLessThanOrEqual(maxTokens);
    const turns = kept.map(({ turn }) => turn);
    expect(turns).toEqual(turns.toSorted((a, b) => a - b));
    for (const { text } of kept)
      for (const part of text.split(/ ?(?:…|\[…\]) ?|\n/).filter((each) => each !== ""))
        expect(
          all.some((each) => each.text.includes(part.trim())),
          part,
        ).toBe(true);
  });
  fc.assert(law);
});

test("leaves out a sentence that only announces the next call", () => {
  const call = { type: "toolCall", id: "c1", name: "bash", arguments: { command: "ls" } };
  const texts = (text: string, ...calls: object[]) =>
    statementsIn([user("Go."), said("assistant", [{ type: "text", text }, ...calls])]).closings.map(
      (each) => each.text,
    );
  expect(texts("Now the parser:", call)).toEqual([]);
  expect(texts("The cache was stale. Now the parser：", call)).toEqual(["The cache was stale."]);
  expect(texts("The cache was stale.", call)).toEqual(["The cache was stale."]);
  expect(texts("Two parts are left:")).toEqual(["Two parts are left:"]);
});
