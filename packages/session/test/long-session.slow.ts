import { describe, expect, test } from "vitest";
import { createSession, MemoryStore, openSession } from "../src/index.ts";
import { WatchedStore } from "./watched-store.ts";

const said = (content: string) =>
  ({ type: "message", message: { role: "user", content, timestamp: 0 } }) as const;

test("entries are read without the bytes between far ones, and with few reads if they are near", () => {
  const store = new WatchedStore();
  const session = createSession({ store, cwd: "/" });
  session.append(Array.from({ length: 4_000 }, (_, at) => said(`${at} ${"x".repeat(900)}`)));
  const { count } = session.index();
  const readFor = (numbers: number[]) => {
    const before = store.readBytes;
    expect([...session.entriesAt(numbers)].map(({ number }) => number)).toEqual(numbers);
    return store.readBytes - before;
  };
  expect(readFor([0, 1_000, 2_000, 3_000])).toBeLessThan(40_000);
  expect(readFor([...new Array(count).keys()])).toBeLessThan(1.2 * store.size());
});

describe("opening a long session", () => {
  /** A session of many entries with a compaction near its end. */
  function longSession(count: number): { content: Buffer; kept: number } {
    const store = new MemoryStore();
    const session = createSession({ store, cwd: "/" });
    const entries = session.append(
      Array.from({ length: count }, (_, at) => said(`${at} ${"x".repeat(500)}`)),
    );
    session.append({
      type: "compaction",
      summary: "sum",
      firstKeptEntryId: entries.at(-20)!.id,
      tokensBefore: 1,
    });
    session.append(Array.from({ length: 30 }, () => said("after")));
    const content = Buffer.alloc(store.size());
    store.read(content, 0);
    return { content, kept: 51 };
  }

  test("reads no more of a file ten times as long", () => {
    const readFor = (count: number) => {
      const { content, kept } = longSession(count);
      const store = new WatchedStore(content);
      expect(openSession({ store }).projection().items).toHaveLength(kept);
      return store.readBytes;
    };
    const bytes = readFor(2_000);
    // Longer numbers make longer lines.
    expect(Math.abs(readFor(20_000) - bytes)).toBeLessThan(1_000);
    expect(bytes).toBeLessThan(200_000);
  });

  test("reads no more of a session without compactions, until the model's view is needed", () => {
    const readFor = (count: number) => {
      const store = new MemoryStore();
      const made = createSession({ store, cwd: "/" });
      made.append(Array.from({ length: count }, (_, at) => said(`${at} ${"x".repeat(100)}`)));
      const content = Buffer.alloc(store.size());
      store.read(content, 0);
      const watched = new WatchedStore(content);
      const session = openSession({ store: watched });
      const opened = watched.readBytes;
      expect(session.leafId).toBe(made.leafId);
      expect(session.projection().items).toHaveLength(count);
      expect(session.append(said("more")).parentId).toBe(made.leafId);
      expect(session.projection().items).toHaveLength(count + 1);
      return opened;
    };
    // Ids and numbers are no longer than they were; the lines are a little.
    expect(Math.abs(readFor(10_000) - readFor(2_500))).toBeLessThan(10_000);
  });

  test("and an append to it reads only the end", () => {
    const store = new WatchedStore(longSession(20_000).content);
    const session = openSession({ store });
    session.projection();
    const before = store.readBytes;
    for (let number = 0; number < 100; number += 1) {
      session.append(said("more"));
      session.projection();
    }
    expect(store.readBytes - before).toBeLessThan(100 * 20);
  });
});
