import fc from "fast-check";
import { expect, test } from "vitest";
import { createSession, type Entry, MemoryStore, openSession, project, type Session } from "../src/index.ts";
import { LiveView } from "../src/read/tail.ts";

/** The next step of a user; numbers choose among the existing entries. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ does: fc.constant("say" as const), count: fc.nat({ max: 3 }) }) },
  fc.record({
    does: fc.constantFrom("compact", "edit", "omit", "undo", "redo", "move", "label") as fc.Arbitrary<Choice>,
    at: fc.nat(),
  }),
  fc.record({
    does: fc.constantFrom(
      "keep nothing",
      "keep a stranger",
      "to the root",
      "look",
      "pin",
      "unpin",
    ) as fc.Arbitrary<Plain>,
  }),
);
type Choice = "compact" | "edit" | "omit" | "undo" | "redo" | "move" | "label";
type Plain = "keep nothing" | "keep a stranger" | "to the root" | "look" | "pin" | "unpin";
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const said = (text: string) =>
  ({ type: "message", message: { role: "user", content: text, timestamp: 0 } }) as const;
const summary = { type: "compaction", summary: "sum\nIt holds.", tokensBefore: 1 } as const;
const pinned = {
  type: "custom_message",
  customType: "bonsai.pin",
  display: true,
  content: "Pinned: It holds.",
  details: { text: "It holds.", line: "It holds." },
} as const;

function take(session: Session, next: Step, number: number): void {
  const path = session.path();
  const pick = (entries: readonly Entry[]) =>
    ("at" in next ? entries[next.at % entries.length] : undefined)?.id;
  const chosen = pick(path) ?? "nobody";
  switch (next.does) {
    case "say":
      session.append(Array.from({ length: next.count }, (_, at) => said(`${number}.${at}`)));
      return;
    case "compact":
      session.append({ ...summary, firstKeptEntryId: chosen });
      return;
    case "keep a stranger":
      session.append({ ...summary, firstKeptEntryId: "stranger" });
      return;
    case "keep nothing": {
      const id = session.newId();
      session.append({ ...summary, id, firstKeptEntryId: id });
      return;
    }
    case "edit":
      session.append({ type: "context_edit", targetId: chosen, replacement: { content: `edit ${number}` } });
      return;
    case "omit":
      session.append([{ type: "context_edit", targetId: chosen, replacement: null }, said("after")]);
      return;
    case "pin":
      session.append(pinned);
      return;
    case "unpin":
      session.append({ ...pinned, customType: "bonsai.unpin" });
      return;
    case "undo":
      session.undoCompaction(pick(path.filter(({ type }) => type === "compaction")) ?? chosen);
      return;
    case "redo":
      session.redoCompaction(pick(path.filter(({ type }) => type === "compaction")) ?? chosen);
      return;
    case "move":
      if (path.length > 0) session.moveTo(pick(session.entries())!);
      return;
    case "to the root":
      session.moveTo(null);
      return;
    case "label":
      session.append({ type: "label", targetId: chosen, label: `label ${number}` });
      return;
    default:
      session.projection();
  }
}

test("Invariant: the projection equals project(path), however the path came to be, and a reload changes nothing", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const store = new MemoryStore('{"type":"session","version":3,"id":"s","timestamp":"","cwd":"/"}\n');
      const session = openSession({ store });
      let reopened = openSession({ store });
      steps.forEach((next, number) => {
        take(session, next, number);
        const projection = session.projection();
        expect(projection).toEqual(project(session.path()));
        reopened = openSession({ store });
        expect(reopened.leafId).toBe(session.leafId);
        expect(reopened.projection()).toEqual(projection);
        expect(reopened.path()).toEqual(session.path());
      });
      // Going on from a tail, without what lies before it in memory.
      take(reopened, { does: "say", count: 1 }, 99);
      take(reopened, { does: "undo", at: 0 }, 100);
      expect(reopened.projection()).toEqual(project(reopened.path()));
      take(reopened, { does: "redo", at: 0 }, 101);
      expect(reopened.projection()).toEqual(project(reopened.path()));
    }),
  );
});

test("a view that was given out does not change when the session continues", () => {
  const session = createSession({ cwd: "/" });
  session.append(said("one"));
  const before = session.projection();
  session.append(said("two"));
  expect(before.items).toHaveLength(1);
  expect(session.projection().items).toHaveLength(2);
});

test("a compaction lets go of a long path, an undo reads it again", () => {
  const session = createSession({ cwd: "/" });
  const entries = session.append(Array.from({ length: 6000 }, (_, at) => said(`${at}`)));
  const compaction = session.append({ ...summary, firstKeptEntryId: entries[5990]!.id });
  expect(session.projection().items).toHaveLength(11);
  expect(session.path()).toHaveLength(6001);
  session.undoCompaction(compaction.id);
  expect(session.projection().items).toHaveLength(6000);
});

test("a path of any length takes an entry without being walked", () => {
  const walked: string[] = [];
  const path = Array.from({ length: 1000 }, (_, at) => entry(`e${at}`, () => walked.push(`e${at}`)));
  const view = new LiveView({ leafId: "e999", entries: path, reachesRoot: true });
  view.projection();
  walked.length = 0;
  view.append([entry("new", () => walked.push("new"))]);
  expect(view.projection().items.at(-1)?.entryId).toBe("new");
  expect(new Set(walked)).toEqual(new Set(["new"]));
});

/** A message entry that says when somebody looks at its message. */
function entry(id: string, onLook: () => void): Entry {
  const base = { type: "message", id, parentId: null, timestamp: "" };
  const message = { role: "user", content: id, timestamp: 0 };
  return Object.defineProperty(base, "message", {
    get: () => {
      onLook();
      return message;
    },
  }) as unknown as Entry;
}
