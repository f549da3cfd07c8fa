import type { Message } from "@bonsai-agent/messages";
import { scripts, writtenTurns } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type RecordedMessage, recordAfter } from "../../src/carry/record.ts";
import { emptyRecord, recordSchema, type SaidMessage, type SpanRecord } from "../../src/details.ts";
import { withoutMarks } from "../../src/record/marks.ts";
import { ran, said } from "./run-messages.ts";

const user = (text: string, entryId: string) => said("user", text, entryId);
const agent = (text: string, entryId: string) => said("assistant", [{ type: "text", text }], entryId);

const storedRecord = (value: unknown) => recordSchema.safeParse(value).data;
/** Large enough to clip nothing. */
const PLENTY = 1_000_000;
const recordOf = (messages: readonly RecordedMessage[], earlier?: SpanRecord, wordsTokens = PLENTY) =>
  recordAfter({ messages, earlier, wordsTokens });

/** A call and its result stay together, as every cut has it. */
const deed = fc.constantFrom<RecordedMessage[]>(
  [user("Please mend src/a.ts, and never touch src/legacy.", "u1")],
  [user("go on", "u2")],
  [user("ok", "u3")],
  [user("Take port 8443.\n- [ ] tell the operators", "u4")],
  [user("请不要修改 config.yml。", "u5")],
  [agent("Shall I delete the table orders_v2?", "a1")],
  [agent("The gateway listens on port 8443 now.", "a2")],
  [agent("- [x] tell the operators", "a3")],
  ran("pnpm test", "FAIL test/a.test.ts\nAssertionError: expected 1 to be 2", 1, "r1"),
  ran("pnpm test", "ok", 0, "r2"),
  ran("git push origin main", "", 0, "r3"),
);
const history = fc.array(deed, { maxLength: 24 });

/** The facts of a record. Leaves out the number of summaries, which depends on the cuts. */
function saidBy({ words, outcomes, terms, turns }: SpanRecord) {
  return { words, outcomes, terms, turns };
}

test("law: a history that is cut anywhere, and carried on in as many spans, gives what it gives at once", () => {
  const law = fc.property(history, fc.array(fc.nat(24), { maxLength: 4 }), (deeds, cuts) => {
    let record: SpanRecord | undefined;
    const places = [0, ...cuts.map((at) => Math.min(at, deeds.length)).sort((a, b) => a - b), deeds.length];
    places.slice(1).forEach((to, at) => {
      const messages = deeds.slice(places[at], to).flat();
      record = recordAfter({
        earlier: record,
        messages,
        following: deeds.slice(to).flat(),
        wordsTokens: PLENTY,
      });
    });
    expect(saidBy(record!)).toEqual(saidBy(recordOf(deeds.flat())));
    expect(record!.spans).toBe(places.length - 1);
  });
  fc.assert(law);
});

test("an answer after a cut keeps the question before it", () => {
  const before = recordOf([
    user("Mend src/a.ts.", "u1"),
    agent("Done. Shall I drop the table orders_v2?", "a1"),
  ]);
  const { words } = recordOf([user("yes", "u2"), agent("Dropped.", "a2"), user("yes", "u3")], before);
  expect(words.said[1]).toMatchObject({ turn: 2, text: "yes", answers: "Shall I drop the table orders_v2?" });
});

/** A mark depends on the rarity of the words that were read so far. */
const unmarked = ({ turn, entryId, text }: SaidMessage) => ({ turn, entryId, text: withoutMarks(text) });

test.each(scripts)(
  "turns in %s script, read in three parts or at once, give the same numbers, entries and outcomes",
  (script) => {
    const parts = [1, 2, 3].map((seed) => writtenTurns(script, { seed, turns: 14 }));
    const messages = parts.flat();
    const sources = messages.map((message, at) => ({ message, entryId: `e${at}` }));
    let record: SpanRecord | undefined;
    let from = 0;
    for (const part of parts) {
      record = recordOf(sources.slice(from, from + part.length), record);
      from += part.length;
    }
    const whole = recordOf(sources);
    expect(record!.outcomes).toEqual(whole.outcomes);
    expect(record!.words.said.map(unmarked)).toEqual(whole.words.said.map(unmarked));
  },
);

test("messages after a span only remove failures and to-dos", () => {
  const messages = [...ran("pnpm test", "FAIL a", 1, "r1"), user("- [ ] tell the operators", "u1")];
  const following = [
    ...ran("pnpm test", "ok", 0, "r2"),
    agent("- [x] tell the operators\n- [ ] another", "a1"),
    ...ran("git push", "", 0, "r3"),
    user("Never use tabs.", "u2"),
  ];
  const record = recordAfter({ messages, following, wordsTokens: PLENTY });
  expect(record.outcomes).toEqual({ failing: [], irreversible: [], openTodos: [] });
  expect(record.words.said.map(({ entryId }) => entryId)).toEqual(["u1"]);
  expect(record.turns).toBe(1);
});

test("a branch's record joins at the branch's position, with its statements and pushes but without failures and plans", () => {
  const branch = recordOf([
    user("Try it with Redis in src/cache.ts.", "b1"),
    agent("Redis is too slow for that.", "b2"),
    ...ran("git push origin try-redis", "", 0, "b3"),
    ...ran("pnpm test", "FAIL a", 1, "b4"),
    user("- [ ] measure Redis", "b5"),
  ]);
  const summary = {
    message: { role: "branchSummary", summary: "Tried.", timestamp: 0 } as unknown as Message,
  };
  const record = recordOf([
    user("Make it fast.", "u1"),
    { ...summary, record: branch },
    user("Now with a Map.", "u2"),
  ]);
  expect(
    record.words.said.map(({ turn, entryId, isOnBranch = false }) => [turn, entryId, isOnBranch]),
  ).toEqual([
    [1, "u1", false],
    [2, "b1", true],
    [3, "b5", true],
    [4, "u2", false],
  ]);
  expect(record.closings).toMatchObject([{ text: "Redis is too slow for that.", isOnBranch: true }]);
  expect(record.outcomes.irreversible).toMatchObject([{ command: "git push origin try-redis" }]);
  expect([record.outcomes.failing, record.outcomes.openTodos]).toEqual([[], []]);
  expect(record.terms.uses.map(({ term }) => term)).toContain("src/cache.ts");
});

test("lists a statement of both a branch's record and the path once, as the path's", () => {
  const trunk = [user("Never touch src/legacy.", "u1"), agent("I leave src/legacy alone.", "a1")];
  const branch = recordOf([...trunk, user("Try Redis.", "b1")]);
  const summary = {
    message: { role: "branchSummary", summary: "Tried.", timestamp: 0 } as unknown as Message,
  };
  const { words, closings } = recordOf([...trunk, { ...summary, record: branch }]);
  expect(words.said.map(({ entryId, isOnBranch = false }) => [entryId, isOnBranch])).toEqual([
    ["u1", false],
    ["b1", true],
  ]);
  expect(closings.map(({ entryId, isOnBranch = false }) => [entryId, isOnBranch])).toEqual([["a1", false]]);
});

test("law: storing and reading a record does not change it", () => {
  const law = fc.property(history, fc.boolean(), (deeds, isNamed) => {
    const messages = deeds
      .flat()
      .map(({ message, entryId }) => (isNamed ? { message, entryId } : { message }));
    const record = recordOf(messages, undefined, 60);
    const stored = JSON.parse(JSON.stringify(record)) as unknown;
    expect(JSON.parse(JSON.stringify(storedRecord(stored)))).toEqual(stored);
    expect(saidBy(recordOf(messages, storedRecord(stored)))).toEqual(saidBy(recordOf(messages, record)));
  });
  fc.assert(law);
});

test("law: reads any stored record without an exception, and continues from it", () => {
  const sound = JSON.parse(
    JSON.stringify(recordOf([user("Take src/a.ts.", "u1"), ...ran("git push", "", 0, "r1")])),
  ) as Record<string, unknown>;
  const damage = fc.record(
    {
      spans: fc.anything(),
      turns: fc.anything(),
      words: fc.oneof(fc.anything(), fc.record({ said: fc.anything(), leftOut: fc.anything() })),
      closings: fc.anything(),
      terms: fc.oneof(fc.anything(), fc.record({ messages: fc.anything(), uses: fc.array(fc.anything()) })),
      outcomes: fc.oneof(
        fc.anything(),
        fc.record({ failing: fc.anything(), irreversible: fc.array(fc.anything()) }),
      ),
    },
    { requiredKeys: [] },
  );
  const law = fc.property(damage, (fields) => {
    const earlier = storedRecord({ ...sound, ...fields });
    const next = recordOf([user("Never use tabs.", "u9")], earlier);
    expect(next.words.said.at(-1)?.text).toBe("Never use tabs.");
    expect(Number.isInteger(next.turns)).toBe(true);
  });
  fc.assert(law);
  for (const none of [undefined, null, 7, "x", []]) expect(storedRecord(none)).toBeUndefined();
});

test("sound parts of a damaged record are kept", () => {
  const said = [{ turn: 1, text: "Never push." }, 7, { turn: "x", text: "Take port 80." }, { turn: 2 }, null];
  const read = storedRecord({ ...emptyRecord, words: { said, leftOut: -1 } })!;
  expect(read.words).toEqual({
    said: [
      { turn: 1, text: "Never push." },
      { turn: 0, text: "Take port 80." },
    ],
    leftOut: 0,
  });
});

test("reads the valid fields of messages with missing and wrong fields", () => {
  const damaged = [
    undefined,
    null,
    {},
    { role: "user" },
    { role: "user", content: [null, 7, { type: "text" }] },
    { role: "assistant" },
  ];
  const more = [
    { role: "toolResult" },
    { role: "bashExecution" },
    { role: "assistant", content: [{ type: "toolCall" }] },
    { role: "x" },
  ];
  const messages = [...damaged, ...more].map((message) => ({ message: message as unknown as Message }));
  const record = recordOf([...messages, user("Never push.", "u1")]);
  expect(record.words.said).toMatchObject([{ text: "Never push." }]);
});
