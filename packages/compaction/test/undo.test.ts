import type { Session } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { redoLatestUndo, undoLatestCompaction } from "../src/flow/undo.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";

const contextSize = () => ({ tokens: 0, estimatedTokens: 0 });
const undo = async (session: Session) => (await undoLatestCompaction({ session, contextSize })).compactionId;
const redo = async (session: Session) => (await redoLatestUndo({ session, contextSize })).compactionId;
const seen = (session: Session) => session.projection().items.map(({ entryId }) => entryId);
const errorWith = (code: string) => expect.objectContaining({ code });

test("several undos are redone in the reverse order", async () => {
  const { session, id } = history("U A C(a1) U A C(u2) U A C(a3) U");
  const views = [seen(session)];
  for (const name of ["c3", "c2", "c1"]) {
    expect(await undo(session)).toBe(id(name));
    views.push(seen(session));
  }
  await expect(undo(session)).rejects.toEqual(errorWith("nothing_to_undo"));
  for (const name of ["c1", "c2", "c3"]) {
    views.pop();
    expect(await redo(session)).toBe(id(name));
    expect(seen(session)).toEqual(views.at(-1));
  }
  await expect(redo(session)).rejects.toEqual(errorWith("nothing_to_redo"));
});

test.each([
  ["nothing was undone", "U A C(a1) U"],
  ["no compaction is there", "U A"],
  ["the session is empty", ""],
  ["another compaction came behind the undo", "U A C(a1) U Z(c1) U A C(a2) U"],
  ["the undo is on another branch", "U A C(a1) U Z(c1) U ^u2 A"],
])("nothing can be redone where %s", async (_, notation) => {
  const { session } = history(notation);
  const before = session.entries().length;
  await expect(redo(session)).rejects.toEqual(errorWith("nothing_to_redo"));
  expect(session.entries()).toHaveLength(before);
});

test("an undo of a compaction that is not on the path is passed over", async () => {
  const { session, id } = history("U A C(a1) U Z(c1)");
  session.undoCompaction("nowhere");
  expect(await redo(session)).toBe(id("c1"));
});

test("a redo is refused if a summarised entry was hidden after the undo, and allowed if a later one was", async () => {
  const later = history("U A U C(u2) U Z(c1) X E(x1) U");
  expect(await redo(later.session)).toBe(later.id("c1"));
  const hidden = history("X A U C(u1) U Z(c1) E(x1) U");
  await expect(redo(hidden.session)).rejects.toEqual(errorWith("redo_not_possible"));
  await expect(redo(hidden.session)).rejects.toThrow(hidden.id("x1"));
  const masked = history("U A(t1) T1 A U C(u2) U Z(c1) M(t1) U");
  expect(await redo(masked.session)).toBe(masked.id("c1"));
});

/** What undo and redo did so far on one path: a plain pair of stacks. */
interface Model {
  live: string[];
  undone: string[];
}

test("any mix of undo, redo, compactions and moves does what two stacks do, and loses no entry", async () => {
  const step = fc.constantFrom("undo", "undo", "redo", "redo", "say", "compact", "back");
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { session } = history("U A");
      let model: Model = { live: [], undone: [] };
      /** The model at each place where the leaf has been. */
      const places = new Map<string, Model>();
      let count = session.entries().length;
      for (const next of steps) {
        places.set(session.leafId!, structuredClone(model));
        if (next === "say") history("U A", session);
        if (next === "compact") {
          const { items } = session.projection();
          const firstKeptEntryId = items.at(-1)!.entryId;
          const drafted = {
            type: "compaction" as const,
            summary: "It was.",
            firstKeptEntryId,
            tokensBefore: 1,
          };
          model = { live: [...model.live, session.append(drafted).id], undone: [] };
        }
        if (next === "undo") {
          const id = model.live.pop();
          if (id === undefined) await expect(undo(session)).rejects.toEqual(errorWith("nothing_to_undo"));
          else {
            expect(await undo(session)).toBe(id);
            model.undone.push(id);
          }
        }
        if (next === "redo") {
          const id = model.undone.pop();
          if (id === undefined) await expect(redo(session)).rejects.toEqual(errorWith("nothing_to_redo"));
          else {
            expect(await redo(session)).toBe(id);
            model.live.push(id);
          }
        }
        if (next === "back") {
          const earlier = [...places.keys()].at(Math.floor(places.size / 2))!;
          session.moveTo(earlier);
          model = structuredClone(places.get(earlier)!);
        }
        expect(session.projection().compaction?.id).toBe(model.live.at(-1));
        expect(session.entries().length).toBeGreaterThanOrEqual(count);
        count = session.entries().length;
      }
    }),
  );
});

test("undo and redo notify session_compact_undo with the stored entry and the compaction", async () => {
  const { session, id } = history("U A C(a1) U");
  const lifecycle = compactionLifecycle();
  const events: object[] = [];
  lifecycle.on("session_compact_undo", (event) => void events.push({ ...event }));
  const undone = await undoLatestCompaction({ session, lifecycle, contextSize });
  const redone = await redoLatestUndo({ session, lifecycle, contextSize });
  await expect(redoLatestUndo({ session, lifecycle, contextSize })).rejects.toThrow();
  const compactionEntry = session.entry(id("c1"));
  const event = { type: "session_compact_undo", compactionEntry };
  expect(events).toEqual([
    { ...event, entry: session.entry(undone.entryId), isUndone: true },
    { ...event, entry: session.entry(redone.entryId), isUndone: false },
  ]);
});
