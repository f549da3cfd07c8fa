import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createSession,
  type Entry,
  MemoryStore,
  openSession,
  type Projection,
  project,
} from "../src/index.ts";
import { SessionReader } from "../src/read/session-reader.ts";
import { damagedFile } from "./random-file.ts";

/** Everything the model sees, and where from. What the oldest of it hangs on, only the whole file can tell. */
function view(path: readonly Entry[]) {
  return seen(project(path));
}

function seen({ items, compaction }: Projection) {
  const shown = items.map(({ entryId, message, edit }) => ({ entryId, message, edit: edit?.id }));
  return { items: shown, compaction: compaction?.id };
}

describe("reading a file from its end", () => {
  test("law: comes to the same leaf and the same projection as reading all of it, whatever is wrong", () => {
    fc.assert(
      fc.property(damagedFile, (text) => {
        const store = new MemoryStore(text);
        const tail = new SessionReader({ store, version: 3 }).tail()!;
        const whole = new SessionReader({ store, version: 3 }).wholePath()!;
        expect(tail.leafId).toBe(whole.leafId);
        expect(new SessionReader({ store, version: 3 }).leaf()).toBe(whole.leafId);
        expect(view(tail.entries)).toEqual(view(whole.entries));
      }),
    );
  });

  test("law: a part of the path that reaches the view is projected as the whole path is", () => {
    fc.assert(
      fc.property(damagedFile, (text) => {
        const session = openSession({ store: new MemoryStore(text) });
        for (const { id } of session.index().records()) {
          if (session.entry(id) === undefined) continue;
          expect(seen(session.projection(id))).toEqual(view(session.path(id)));
        }
      }),
    );
  });

  test("law: every path ends at a root, and nothing is on it twice", () => {
    fc.assert(
      fc.property(damagedFile, (text) => {
        const index = openSession({ store: new MemoryStore(text) }).index();
        for (let number = 0; number < index.count; number += 1) {
          const path = index.ancestry(number);
          expect(new Set(path).size).toBe(path.length);
          if (path.length > 0) expect(index.parent(path[0]!)).toBe(-1);
        }
      }),
    );
  });

  test("law: an index that grew with its file equals one made at once", () => {
    fc.assert(
      fc.property(damagedFile, fc.array(fc.nat(), { maxLength: 4 }), (text, cuts) => {
        const bytes = Buffer.from(text);
        const store = new MemoryStore();
        const growing = new SessionReader({ store, version: 3 });
        let done = 0;
        for (const cut of [...cuts.map((at) => at % bytes.length).sort((a, b) => a - b), bytes.length]) {
          store.append(bytes.subarray(done, cut).toString("latin1"));
          growing.index();
          done = cut;
        }
        const whole = new SessionReader({ store: new MemoryStore(bytes.toString("latin1")), version: 3 });
        expect([...growing.index().records()]).toEqual([...whole.index().records()]);
        expect(growing.index().damagedLines()).toEqual(whole.index().damagedLines());
        expect(growing.index().invalidParents()).toEqual(whole.index().invalidParents());
      }),
    );
  });

  test("an old view is read from its place, not from the end, once there is an index", () => {
    const store = new MemoryStore();
    const session = createSession({ store, cwd: "/x" });
    const ids: string[] = [];
    const said = { role: "user" as const, content: "x".repeat(2_000), timestamp: 1 };
    for (let turn = 0; turn < 400; turn += 1) {
      const kept = session.append({ type: "message", message: said }).id;
      const compaction = { summary: "s", firstKeptEntryId: kept, tokensBefore: 9 };
      ids.push(session.append({ type: "compaction", ...compaction }).id);
    }
    let readBytes = 0;
    const read = store.read.bind(store);
    store.read = (target, offset) => {
      readBytes += target.length;
      return read(target, offset);
    };
    const again = openSession({ store });
    again.index();
    readBytes = 0;
    for (const id of ids) expect(again.projection(id).items).toHaveLength(2);
    expect(readBytes).toBeLessThan(ids.length * 100_000);
  });
});
