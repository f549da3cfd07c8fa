import { callsIn } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { fewRuns, history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { hiddenLookup, hideableMessages, recallableEntry, toggleHidden } from "../src/host.ts";

const trees = treeArbitrary({ maxTokens: 40 });

/** Ids of calls without a result, and of results without a call. */
function halves(session: Session): string[] {
  const items = session.projection().items.map(({ message }) => message);
  const calls = items.flatMap((message) => (message.role === "assistant" ? callsIn(message) : []));
  const results = items.flatMap((message) => (message.role === "toolResult" ? [message.toolCallId] : []));
  const called = new Set(calls.map(({ id }) => id));
  const alone = calls.map(({ id }) => id).filter((id) => !results.includes(id));
  return [...alone, ...results.filter((id) => !called.has(id))].sort();
}

const view = (session: Session) => JSON.stringify(session.projection().items.map(({ message }) => message));

const hideable = (session: Session) => hideableMessages(session).map(({ entry }) => entry.id);
const hidden = (session: Session) =>
  hideableMessages(session).flatMap(({ entry, isHidden }) => (isHidden ? [entry.id] : []));

test("Invariant: after any changes by hand, the model sees each call with its result, or neither", () => {
  fc.assert(
    fc.property(trees, fc.array(fc.nat(99), { minLength: 1, maxLength: 6 }), (notation, picks) => {
      const { session } = history(notation);
      const before = new Set(halves(session));
      for (const pick of picks) {
        const ids = hideable(session);
        if (ids.length > 0) toggleHidden(session, ids[pick % ids.length]!);
      }
      // A hidden answer of the random session may have left results alone before.
      if (before.size === 0) expect(halves(session)).toEqual([]);
    }),
    fewRuns(60),
  );
});

test("a message looks as before after it was hidden and shown", () => {
  fc.assert(
    fc.property(trees, fc.nat(99), (notation, pick) => {
      const { session } = history(notation);
      const ids = hideable(session);
      fc.pre(ids.length > 0);
      const before = view(session);
      const id = ids[pick % ids.length]!;
      const change = toggleHidden(session, id);
      expect(change.isHidden).toBe(true);
      expect(view(session)).not.toBe(before);
      expect(hidden(session)).toEqual(expect.arrayContaining([...change.entryIds]));
      expect(toggleHidden(session, id)).toEqual({ ...change, isHidden: false });
      expect(view(session)).toBe(before);
    }),
    fewRuns(60),
  );
});

test.each([
  ["a user message disappears", "U A U A", "u2", "u1 a1 a2"],
  ["an answer takes its results with it", "U A(t1 t2) T1 T2 A", "a1", "u1 a2"],
  ["a result leaves a line for its call", "U A(t1 t2) T1 T2 A", "t1", "u1 a1 t1 t2 a2"],
  ["a command of the user disappears", "U A B U", "b1", "u1 a1 u2"],
])("%s", (_title, notation, name, shown) => {
  const { session, id, name: nameOf } = history(notation);
  toggleHidden(session, id(name));
  expect(
    session
      .projection()
      .items.map(({ entryId }) => nameOf(entryId))
      .join(" "),
  ).toBe(shown);
  expect(recallableEntry(session, session.entry(id(name))!)).not.toEqual(session.entry(id(name)));
});

test("a result that was hidden alone stays hidden when its answer is shown again", () => {
  const { session, id } = history('U A(t1) T1"secret" A');
  toggleHidden(session, id("t1"));
  const before = view(session);
  toggleHidden(session, id("a1"));
  toggleHidden(session, id("t1"));
  expect(view(session)).toBe(before);
  expect(before).not.toContain("secret");
});

test("a message that was shown again counts as never hidden", () => {
  const { session, id } = history("U A(t1) T1 A U A");
  toggleHidden(session, id("u2"));
  toggleHidden(session, id("u2"));
  const entry = session.entry(id("u2"))!;
  expect(hiddenLookup(session)(id("u2"))).toBeUndefined();
  expect(recallableEntry(session, entry)).toBe(entry);
});

test.each([
  ["a summary", "U A U C(u2) A", "c1"],
  ["a summarised message", "U A U C(u2) A", "u1"],
  ["a message of another branch", "U A ^u1 A", "a1"],
  ["an entry without a message", "U m A", "m1"],
])("refuses %s and appends nothing", (_title, notation, name) => {
  const { session, id } = history(notation);
  const { length } = session.entries();
  expect(() => toggleHidden(session, id(name))).toThrow(
    expect.objectContaining({ code: "entry_not_hideable" }),
  );
  expect(session.entries()).toHaveLength(length);
});

test("refuses a note of Bonsai and does not list it: the next compaction removes it", () => {
  const { session } = history("U A");
  const customType = "bonsai.budget";
  session.append({ type: "custom_message", customType, content: "[Context: 50% used.]", display: false });
  const note = session.leafId!;
  expect(hideable(session)).not.toContain(note);
  expect(() => toggleHidden(session, note)).toThrow("is a note of Bonsai. The next compaction removes it.");
});
