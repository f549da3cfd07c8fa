import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSession, type Entry, openSession, project, type Session } from "@bonsai-agent/session";
import { type History, history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { hiddenLookup } from "../src/host.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-hidden-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const trees = treeArbitrary({ maxTokens: 40 });

function hiddenEntries(session: Session, leafId = session.leafId) {
  const hidden = hiddenLookup(session, leafId);
  return session.path(leafId).flatMap(({ id }) => hidden(id) ?? []);
}

/** The message of an entry that nothing hides; undefined for none, and for summaries of compactions. */
function ownMessage(entry: Entry) {
  return entry.type === "compaction" ? undefined : project([{ ...entry, parentId: null }]).items[0]?.message;
}

function shownAsItWas(session: Session, leafId = session.leafId): Set<string> {
  const { items } = session.projection(leafId);
  const asItWas = items.filter(({ entry, message }) => {
    return JSON.stringify(message) === JSON.stringify(ownMessage(entry));
  });
  return new Set(asItWas.map(({ entryId }) => entryId));
}

const words = ({ session, name }: History, leafId = session.leafId) =>
  hiddenEntries(session, leafId).map(
    ({ entryId, reason, by }) => `${name(entryId)} ${reason} by ${name(by)}`,
  );

function expectLaw(session: Session, leafId = session.leafId): void {
  const hidden = hiddenEntries(session, leafId);
  const shown = shownAsItWas(session, leafId);
  const messages = session.path(leafId).filter((entry) => ownMessage(entry) !== undefined);
  expect(hidden.map(({ entryId }) => entryId)).toEqual(
    messages.map(({ id }) => id).filter((id) => !shown.has(id)),
  );
  expect(hidden.map(({ entryId }) => hiddenLookup(session, leafId)(entryId))).toEqual(hidden);
  expect([...shown].filter((id) => hiddenLookup(session, leafId)(id) !== undefined)).toEqual([]);
}

test("Invariant: each message of a path is shown as it was or hidden for exactly one reason", () => {
  fc.assert(
    fc.property(trees, fc.nat(99), (notation, pick) => {
      const { session } = history(notation);
      expectLaw(session);
      const entries = session.entries();
      expectLaw(session, entries[pick % entries.length]!.id);
      expectLaw(session);
    }),
  );
});

test("Invariant: the look-up follows appended entries", () => {
  fc.assert(
    fc.property(trees, trees, (notation, more) => {
      const { session } = history(notation);
      expectLaw(session);
      for (const step of more.split(" | ").slice(0, 6)) {
        history(step.replaceAll(/\bt(\d)/g, "n$1").replaceAll("T(t", "T(n"), session);
        expectLaw(session);
      }
    }),
  );
});

test("Invariant: after an undo nothing that it brought back is hidden", () => {
  fc.assert(
    fc.property(trees, fc.nat(99), (notation, pick) => {
      const { session } = history(notation);
      const before = new Set(hiddenEntries(session).map(({ entryId }) => entryId));
      const items = session.projection().items.filter(({ message }) => message.role !== "compactionSummary");
      fc.pre(items.length > 0);
      const firstKeptEntryId = items[pick % items.length]!.entryId;
      const { id } = session.append({
        ...{ type: "compaction", summary: "All that was.", firstKeptEntryId, tokensBefore: 1 },
      });
      expectLaw(session);
      session.undoCompaction(id);
      expect(new Set(hiddenEntries(session).map(({ entryId }) => entryId))).toEqual(before);
      expectLaw(session);
    }),
  );
});

test("a session in a file says the same, opened anew or not", () => {
  fc.assert(
    fc.property(trees, fc.uuid(), (notation, name) => {
      const file = join(folder, `${name}.jsonl`);
      const { session } = history(notation, createSession({ cwd: "/project", file }));
      const hidden = hiddenEntries(session);
      session.close();
      const opened = openSession(file);
      expect(hiddenEntries(opened, session.leafId)).toEqual(hidden);
      opened.close();
    }),
  );
});

describe("why an entry is hidden", () => {
  test("the compaction that first left it behind is named", () => {
    const told = history("U A U A C(u2) U A C(u3)");
    expect(words(told)).toEqual(
      ["u1 c1", "a1 c1", "u2 c2", "a2 c2"].map((pair) => pair.replace(" ", " summarised by ")),
    );
  });

  const histories = [
    ["nothing is hidden", "U A(t1) T1 A", []],
    ["a mask", "U A(t1) T1 A M(t1)", ["t1 masked by m1"]],
    ["an omission", "U A E(u1)", ["u1 dropped by e1"]],
    ["a part that was left out", 'U A E(u1)"less"', ["u1 dropped by e1"]],
    [
      "a mask, then a summary",
      "U A(t1) T1 A M(t1) U C(u2)",
      ["u1", "a1", "t1", "a2"].map((n) => `${n} summarised by c1`),
    ],
    [
      "commands kept out of the context are not",
      "U B! B U C(u2)",
      ["u1 summarised by c1", "b2 summarised by c1"],
    ],
    ["nor is what an undo brought back", "U A U C(u2) Z(c1)", []],
  ] as const;
  test("names the reason for each hidden entry", () => {
    expect(histories.map(([name, notation]) => [name, notation, words(history(notation))])).toEqual(
      histories,
    );
  });
});
