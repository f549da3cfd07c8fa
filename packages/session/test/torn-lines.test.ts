import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import {
  createSession,
  type Entry,
  type EntryDraft,
  JsonlStore,
  openSession,
  type Session,
  type SessionStore,
} from "../src/index.ts";
import { scratchFolder } from "./scratch-folder.ts";

const pathOf = scratchFolder();

function said(content: string): EntryDraft {
  return { type: "message", message: { role: "user", content, timestamp: 0 } };
}

/** A store in which another writer dies in the middle of a line, in the moment before an append. */
function withDyingWriter(file: string): { store: SessionStore; dies: (torn: string) => void } {
  const inner = JsonlStore.open(file);
  const other = JsonlStore.open(file);
  let next: string | undefined;
  const store: SessionStore = {
    file,
    readOnly: undefined,
    size: () => inner.size(),
    read: (target, offset) => inner.read(target, offset),
    append(text) {
      const torn = next;
      next = undefined;
      if (torn !== undefined) other.append(torn);
      return inner.append(text);
    },
    flush: () => inner.flush(),
    close: () => inner.close(),
  };
  return {
    store,
    dies: (torn) => {
      next = torn;
    },
  };
}

let number = 0;
function sessionFile(): string {
  number += 1;
  const file = pathOf(`${number}.jsonl`);
  createSession({ cwd: "/", file }).append([said("one"), said("two")]);
  return file;
}

/** Opened anew, it holds the same, each entry once, and goes on. */
function expectSame(file: string, { path, leafId }: { path: Entry[]; leafId: string | null }): void {
  const again = openSession(file);
  expect(again.leafId).toBe(leafId);
  expect(again.projection().items.map(({ entryId }) => entryId)).toEqual(path.map(({ id }) => id));
  expect(again.path()).toEqual(path);
  const messages = again.entries().filter(({ type }) => type === "message");
  expect(messages.map(({ id }) => id).toSorted()).toEqual(path.map(({ id }) => id).toSorted());
  for (const { id } of path) expect(again.entry(id)?.type).toBe("message");
  const next = again.append(said("next"));
  expect(openSession(file).path()).toEqual([...path, next]);
}

const head = '{"type":"message","id":"0badbeef","parentId":';
const torn: [string, string][] = [
  ["after its first byte", "{"],
  ["in a key", '{"'],
  ["in its type", '{"type":"mess'],
  ["before its id", '{"type":"message","id":'],
  ["in its id", '{"type":"message","id":"0bad'],
  ["before its parent", head],
  ["in its parent", `${head}"`],
  ["before its message", `${head}null,"timestamp":"2026-01-05T09:00:00.000Z","message":`],
  [
    "in a text",
    `${head}null,"timestamp":"2026-01-05T09:00:00.000Z","message":{"role":"user","content":"half`,
  ],
  ["after a backslash", `${head}null,"message":{"role":"user","content":"half\\`],
  [
    "before its newline",
    `${head}null,"timestamp":"2026-01-05T09:00:00.000Z","message":{"role":"user","timestamp":0}`,
  ],
  ["to zero bytes", "\0\0\0\0"],
  ["to spaces", "  "],
  ["behind whole lines", '{"type":"label","id":"0badcafe","parentId":null,"targetId":"x"}\n{"type":"la'],
];

describe("another writer dies between the look at the end and the write", () => {
  test("one entry after the torn line of another writer stands alone", () => {
    for (const [name, line] of torn) {
      const file = sessionFile();
      const { store, dies } = withDyingWriter(file);
      const session = openSession({ store });
      session.append(said("three"));
      dies(line);
      session.append(said("four"));
      session.append(said("five"));
      expectSame(file, { path: session.path(), leafId: session.leafId });
      expect
        .soft(
          session.notices.map(({ code }) => code),
          name,
        )
        .toEqual(["foreign_entries"]);
      expect
        .soft(
          readFileSync(file, "utf8")
            .split("\n")
            .slice(0, -1)
            .filter((each) => each === ""),
          name,
        )
        .toHaveLength(1);
    }
  });

  test("several entries after the torn line of another writer stand alone", () => {
    for (const [name, line] of torn) {
      const file = sessionFile();
      const { store, dies } = withDyingWriter(file);
      const session = openSession({ store });
      session.path();
      dies(line);
      const [, , last] = session.append([said("three"), said("four"), said("five")]);
      expect.soft(session.leafId, name).toBe(last!.id);
      expectSame(file, { path: session.path(), leafId: session.leafId });
    }
  });
});

test("after a pause, an append ends a torn line", () => {
  for (const [name, line] of torn.slice(0, -1)) {
    const file = sessionFile();
    const other = JsonlStore.open(file);
    const session: Session = openSession(file);
    session.append(said("three"));
    other.append(line);
    const later = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 60_000);
    session.append(said("four"));
    later.mockRestore();
    expectSame(file, { path: session.path(), leafId: session.leafId });
    other.append(line);
    const opened = openSession(file);
    opened.append(said("six"));
    expectSame(file, { path: opened.path(), leafId: opened.leafId });
    // The torn line ends where the next one begins: none is blank.
    expect.soft(readFileSync(file, "utf8"), name).not.toContain("\n\n");
  }
});

describe("an append of which only a part is stored", () => {
  const drafts = [said("three"), said("four"), said("five")];
  test.each([1, 3])("leaves the session where it was, wherever %i entries are cut off", (count) => {
    for (let cut = 0; ; cut += 11) {
      const file = sessionFile();
      const inner = JsonlStore.open(file);
      let room: number | undefined;
      const store: SessionStore = {
        file,
        readOnly: undefined,
        size: () => inner.size(),
        read: (target, offset) => inner.read(target, offset),
        append(text) {
          if (room === undefined) return inner.append(text);
          inner.append(text.slice(0, Math.min(room, text.length - 1)));
          if (room >= text.length - 1) room = Number.POSITIVE_INFINITY;
          throw new Error("ENOSPC");
        },
        flush: () => inner.flush(),
        close: () => inner.close(),
      };
      const session = openSession({ store });
      const path = session.path();
      room = cut;
      expect(() => session.append(drafts.slice(0, count), { under: path[0]!.id })).toThrow("ENOSPC");
      const isAll = room === Number.POSITIVE_INFINITY;
      room = undefined;
      session.close();
      const again = openSession(file);
      expect(again.leafId).toBe(path.at(-1)!.id);
      expect(again.path()).toEqual(path);
      again.close();
      if (isAll) break;
    }
  });
});

test("a failed append does not take the leaf back from another process that appended after it", () => {
  const file = sessionFile();
  const inner = JsonlStore.open(file);
  let fails = false;
  const store: SessionStore = {
    file,
    readOnly: undefined,
    size: () => inner.size(),
    read: (target, offset) => inner.read(target, offset),
    append(text) {
      if (!fails) return inner.append(text);
      inner.append(`${text.split("\n")[0]}\n`);
      throw new Error("ENOSPC");
    },
    flush: () => inner.flush(),
    close: () => inner.close(),
  };
  const session = openSession({ store });
  fails = true;
  expect(() => session.append([said("three"), said("four")])).toThrow("ENOSPC");
  fails = false;
  const other = openSession(file);
  const theirs = other.append(said("theirs"));
  other.close();
  session.close();
  expect(openSession(file).leafId).toBe(theirs.id);
});

const step = fc.oneof(
  fc.record({
    own: fc.integer({ min: 1, max: 3 }),
    dying: fc.constantFrom(undefined, ...torn.map(([, line]) => line)),
  }),
  fc.record({ foreign: fc.constantFrom("whole", ...torn.map(([, line]) => line)) }),
);

test("Invariant: when append returns, each line stands on a line of its own", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const file = sessionFile();
      const { store, dies } = withDyingWriter(file);
      const other = JsonlStore.open(file);
      const session = openSession({ store });
      const appended: Entry[] = session.path();
      for (const [at, each] of steps.entries()) {
        if ("foreign" in each) {
          const line = `{"type":"label","id":"foreign${at}","parentId":null,"targetId":"x"}\n`;
          other.append(each.foreign === "whole" ? line : each.foreign);
          continue;
        }
        if (each.dying !== undefined) dies(each.dying);
        const drafts = Array.from({ length: each.own }, (_, number) => said(`${at} ${number}`));
        appended.push(...session.append(drafts));
        const lines = readFileSync(file, "utf8").split("\n");
        for (const entry of appended) expect(lines).toContain(JSON.stringify(entry));
      }
      const ids = openSession(file)
        .entries()
        .filter(({ type }) => type === "message")
        .map(({ id }) => id);
      expect(ids.toSorted()).toEqual(appended.map(({ id }) => id).toSorted());
      expect(openSession(file).path(session.leafId)).toEqual(appended);
      for (const open of [session, other]) open.close();
    }),
  );
});

test("a session has as many lines as entries, and its header", () => {
  const file = sessionFile();
  const session = openSession(file);
  session.append(said("three"));
  session.moveTo(session.path()[0]!.id);
  session.append([said("four"), said("five")]);
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  expect(lines).toHaveLength(1 + session.entries().length);
  for (const line of lines) expect(() => JSON.parse(line)).not.toThrow();
});
