import { estimateTokens } from "@bonsai-agent/messages";
import { everyRow, scripts, writtenTurns } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { recordAfter } from "../../src/carry/record.ts";
import { emptyRecord, type SpanRecord } from "../../src/details.ts";
import { digestText } from "../../src/record/digest.ts";
import type { SourceMessage } from "../../src/record/statements.ts";
import { ran, said } from "./run-messages.ts";

const user = (text: string, entryId = "u") => said("user", text, entryId);
const agent = (text: string, entryId = "a") => said("assistant", [{ type: "text", text }], entryId);
const recordOf = (messages: readonly SourceMessage[], earlier?: SpanRecord) =>
  recordAfter({ messages, earlier, wordsTokens: 4_000 });
const digestOf = (record: SpanRecord, maxTokens = 4_000) => digestText({ record, maxTokens });

test("requests, actions, failures, open work and the last answer each have a section", () => {
  const record = recordOf([
    user("Never touch src/legacy/old.ts. Ship it.\n- [ ] tell the operators", "u1"),
    ...ran("git push origin main", "", 0, "r1"),
    ...ran(
      "pnpm vitest run test/a.test.ts",
      "FAIL test/a.test.ts\nAssertionError: expected 1 to be 2",
      1,
      "r2",
    ),
    agent("It is pushed, but test/a.test.ts fails.", "a1"),
  ]);
  const text = digestOf(record);
  const sections = text
    .split("\n\n")
    .slice(1)
    .map((part) => part.split("\n"));
  expect(sections.map(([heading]) => heading)).toEqual([
    "## Conversation",
    "## Irreversible commands",
    "## Failing commands",
    "## Open to-dos",
    "## Latest statement",
  ]);
  expect(text).toContain("1. Never touch src/legacy/old.ts. Ship it.");
  expect(text).toContain("- `git push origin main`");
  expect(text).toMatch(/- `pnpm vitest run test\/a\.test\.ts`: .*AssertionError: expected 1 to be 2/);
  expect(text).toContain("- [ ] tell the operators");
  expect(text).toContain("1. agent: It is pushed, but test/a.test.ts fails.");
  const beside = digestText({ record, carriesUserWords: true, maxTokens: 4_000 });
  expect(beside).not.toContain("## Conversation");
  expect(beside).toContain("git push origin main");
});

test("it is honest about itself, and never says nothing", () => {
  for (const record of [emptyRecord, recordOf([]), recordOf([user("")])]) {
    expect(digestOf(record)).toMatch(/extract was made without a model/);
    expect(digestOf(record)).toMatch(/\n\nSummarised: \d+ messages?, \d+ of them from the user\.$/);
  }
});

const MODEL =
  "## Goal\nMove the shop to src/shop/new.ts.\n\n## Constraints & Preferences\n- Never push on Fridays.\n\n## Progress\n### Done\n- [x] the basket";
const FORMER: ReadonlyArray<[by: string, summary: string, notes: string[]]> = [
  ["a model", MODEL, ["Move the shop to src/shop/new.ts.", "Never push on Fridays."]],
  ["pi", `${MODEL}\n\n<read-files>\nr.ts\n</read-files>`, ["Never push on Fridays.", "[x] the basket"]],
  ["an extension", "Day one: we chose SQLite over files, on Anna's word.", ["we chose SQLite over files"]],
  ["an extension, in Chinese", "第一天：我们选择了 SQLite，不用文件。", ["我们选择了 SQLite"]],
];

test("former notes are kept by a digest that goes on from them, and by its successors", () =>
  everyRow(FORMER)(([, earlierSummary, notes]) => {
    let record = recordOf([user("Now the checkout."), agent("The checkout is moved.")]);
    let text = digestText({ record, earlierSummary, maxTokens: 4_000 });
    for (let round = 0; round < 3; round += 1) {
      expect(text.match(/^## Earlier summary$/gm)).toHaveLength(1);
      for (const note of notes) expect(text.split(note)).toHaveLength(2);
      record = recordOf([user(`Now part ${round} of src/part-${round}.ts.`)], record);
      text = digestText({ record, earlierSummary: text, maxTokens: 4_000 });
    }
    expect(text).toContain("Now part 2 of src/part-2.ts.");
  }));

test("quotes of a former digest are in the record, and are not repeated as notes", () => {
  const first = recordOf([user("Never touch src/legacy/old.ts.", "u1"), agent("Understood.", "a1")]);
  const next = recordOf([user("Take port 8443.", "u2")], first);
  const text = digestText({ record: next, earlierSummary: digestOf(first), maxTokens: 4_000 });
  expect(text).not.toContain("Earlier summary");
  expect(text.split("Never touch src/legacy/old.ts.")).toHaveLength(2);
});

test("one record in any script gives one digest, within 200 to 8,000 tokens", () =>
  everyRow(scripts)((script) => {
    const messages = writtenTurns(script, { seed: 3, turns: 40 });
    const record = recordOf(messages.map((message, at) => ({ message, entryId: `e${at}` })));
    const stored = JSON.parse(JSON.stringify(record)) as SpanRecord;
    for (const maxTokens of [200, 350, 600, 1_200, 2_500, 5_000, 8_000]) {
      const text = digestText({ record, earlierSummary: MODEL, maxTokens });
      expect(estimateTokens(text), `${maxTokens}`).toBeLessThanOrEqual(maxTokens);
      expect(digestText({ record: stored, earlierSummary: MODEL, maxTokens })).toBe(text);
    }
  }));

const deed = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 200 }).map((text) => [user(text)]),
  fc.string({ unit: "grapheme", maxLength: 200 }).map((text) => [agent(text)]),
  fc.nat(60).map((at) => [user(`Never change file src/dir/file-${at}.ts without a test, please.`)]),
  fc.nat(60).map((at) => [user(`- [ ] write chapter ${at} of the handbook for the operators`)]),
  fc.nat(60).map((at) => ran(`git push origin feature-${at}`)),
  fc
    .nat(60)
    .map((at) =>
      ran(
        `pnpm vitest run test/${at}.test.ts`,
        `FAIL\n${"Error: expected it to be otherwise. ".repeat(at)}`,
        1,
      ),
    ),
  fc.nat(9).map((at) => [agent(`The ${"words ".repeat(at * 100)} end.`)]),
);

test("law: never more than maxTokens, from 200 to 8,000, whatever there is", () => {
  const law = fc.property(
    fc.array(deed, { maxLength: 60 }),
    fc.integer({ min: 200, max: 8_000 }),
    fc.constantFrom("", MODEL, MODEL.repeat(40)),
    fc.boolean(),
    (deeds, maxTokens, earlierSummary, carriesUserWords) => {
      const text = digestText({
        record: recordOf(deeds.flat()),
        earlierSummary,
        carriesUserWords,
        maxTokens,
      });
      expect(estimateTokens(text)).toBeLessThanOrEqual(maxTokens);
    },
  );
  const todo = (at: number) => [user(`- [ ] write chapter ${at} of the handbook for the operators`)];
  const push = (at: number) => ran(`git push origin feature-${at}`);
  const failing = ran(
    "pnpm vitest run test/3.test.ts",
    `FAIL\n${"Error: expected it to be otherwise. ".repeat(3)}`,
    1,
  );
  const everyPart = [push(0), push(1), [agent("𐀀")], todo(0), todo(1), failing];
  fc.assert(law, { examples: [[everyPart, 200, MODEL.repeat(40), false]] });
});

test("the focus decides what is told where there is not room for all", () => {
  const all = Array.from({ length: 80 }, (_, at) =>
    user(`Never restart service${at}x before its queue is drained.`),
  );
  const record = recordOf(all);
  expect(digestOf(record, 500)).not.toContain("service3x");
  expect(digestText({ record, focus: "service3x", maxTokens: 500 })).toContain("service3x");
});
