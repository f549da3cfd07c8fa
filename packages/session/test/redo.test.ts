import { history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { compactionChange } from "../src/host.ts";
import { type Entry, MemoryStore, openSession, type Session } from "../src/index.ts";

const newSession = () => {
  const store = new MemoryStore('{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/"}\n');
  return { store, session: openSession({ store }) };
};
const seen = (session: Session) => session.projection().items.map(({ entryId }) => entryId);

/** Which compaction counts, by going through the path from its root. */
function liveByModel(path: readonly Entry[]): string | undefined {
  const live: string[] = [];
  const isUndone = new Map<string, boolean>();
  for (const entry of path) {
    if (entry.type === "compaction") live.push(entry.id);
    const change = compactionChange(entry);
    if (change !== undefined) isUndone.set(change.compactionId, change.isUndone);
  }
  return live.findLast((id) => isUndone.get(id) !== true);
}

test("undo then redo gives the projection of before, and what came between stands behind", () => {
  fc.assert(
    fc.property(treeArbitrary(), treeArbitrary({ compactions: false, branches: false }), (notation, more) => {
      const { store, session } = newSession();
      history(notation, session);
      const { compaction } = session.projection();
      fc.pre(compaction !== undefined);
      const before = seen(session);
      session.undoCompaction(compaction!.id);
      session.redoCompaction(compaction!.id);
      expect(seen(session)).toEqual(before);
      session.undoCompaction(compaction!.id);
      const undone = seen(session);
      history(
        more
          .replaceAll(/[EM]\([^)]*\)(?:"[^"]*")?/g, "m")
          .replaceAll(/\bt(\d)/g, "n$1")
          .replaceAll("T(t", "T(n"),
        session,
      );
      const added = seen(session).slice(undone.length);
      session.redoCompaction(compaction!.id);
      expect(seen(session)).toEqual([...before, ...added]);
      expect(seen(openSession({ store }))).toEqual(seen(session));
    }),
  );
});

test("the latest undo or redo of a compaction on a path counts", () => {
  fc.assert(
    fc.property(treeArbitrary({ maxSteps: 30 }), (notation) => {
      const { store, session } = newSession();
      history(notation, session);
      const path = session.path();
      const model = liveByModel(path);
      expect(session.projection().compaction?.id).toBe(model);
      expect(openSession({ store }).projection().compaction?.id).toBe(model);
      const tree = session.tree();
      const onPath = new Set(path.map(({ id }) => id));
      for (const [at, { id, type }] of tree.entries.entries()) {
        if (type !== "compaction" || !onPath.has(id)) continue;
        const upTo = path.filter((entry) => compactionChange(entry)?.compactionId === id);
        expect(tree.isUndone(at)).toBe(upTo.length > 0 && compactionChange(upTo.at(-1)!)!.isUndone);
      }
    }),
  );
});

test("a redo holds on its branch alone", () => {
  const { session, id } = history("U A U A C(u2) U A Z(c1) U");
  const undone = session.leafId;
  session.redoCompaction(id("c1"));
  expect(session.projection().compaction?.id).toBe(id("c1"));
  expect(session.projection(undone).compaction).toBeUndefined();
  session.moveTo(undone);
  expect(session.projection().compaction).toBeUndefined();
});

test("a compaction can be left out of the view without a word in the file", () => {
  fc.assert(
    fc.property(treeArbitrary({ maxSteps: 20 }), (notation) => {
      const { session } = newSession();
      history(notation, session);
      const { compaction } = session.projection();
      fc.pre(compaction !== undefined);
      const without = session.projection(session.leafId, { without: [compaction!.id] });
      session.undoCompaction(compaction!.id);
      expect(without).toEqual(session.projection());
    }),
  );
});
