import { describe, expect, test } from "vitest";
import { MemoryStore, openSession } from "../src/index.ts";

// Files that take far too long if any step is quadratic. No clock is read: the runner's time limit is the measure.
const COUNT = 15_000;
/** A quadratic step of 70 ns reaches this limit. A linear one stays below a second. */
const LIMIT = { timeout: 15_000 };
const HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/"}';
const id = (number: number) => (0xa0000000 + number).toString(16);

function file(lineOf: (number: number) => string): string {
  return `${[HEADER, ...Array.from({ length: COUNT }, (_, number) => lineOf(number))].join("\n")}\n`;
}

function says(own: string, parentId: string | null): string {
  return `{"type":"message","id":"${own}","parentId":${JSON.stringify(parentId)},"timestamp":"2026-01-05T09:00:00.000Z","message":{"role":"user","content":"x"}}`;
}

function compacts(number: number, firstKept: string): string {
  const parent = number === 0 ? "null" : `"${id(number - 1)}"`;
  return `{"type":"compaction","id":"${id(number)}","parentId":${parent},"timestamp":"2026-01-05T09:00:00.000Z","summary":"s","firstKeptEntryId":"${firstKept}","tokensBefore":1}`;
}

describe("many thousand entries", LIMIT, () => {
  test.each([
    ["of one id, each below the one before", (_: number) => says("same", "same"), COUNT],
    ["each before its parent", (at: number) => says(id(at), at === COUNT - 1 ? null : id(at + 1)), 1],
    ["in circles of two", (at: number) => says(id(at), id(at ^ 1)), COUNT],
    ["in one circle", (at: number) => says(id(at), id((at + COUNT - 1) % COUNT)), COUNT],
    ["whose parents are all missing", (at: number) => says(id(at), `lost-${at}`), COUNT],
    ["that miss one parent", (at: number) => says(id(at), "lost"), 1],
    [
      "that name a parent which comes last, many times",
      (at: number) => says(at < COUNT / 2 ? id(at) : "late", "late"),
      undefined,
    ],
    ["between damaged lines", (at: number) => (at % 2 === 0 ? "{" : says(id(at), id(at - 1))), COUNT / 2],
    [
      "without ids",
      () =>
        '{"type":"message","parentId":null,"timestamp":"2026-01-05T09:00:00.000Z","message":{"role":"user","content":"x"}}',
      1,
    ],
    ["of as many types", (at: number) => `{"type":"t${at}","id":"${id(at)}","parentId":null}`, 0],
    ["that compact and keep a stranger", (at: number) => compacts(at, "stranger"), 1],
    ["that compact and keep the first", (at: number) => compacts(at, id(0)), 1],
  ])("%s", (_, lineOf, itemCount) => {
    const session = openSession({ store: new MemoryStore(file(lineOf)) });
    const { items } = session.projection();
    if (itemCount !== undefined) expect(items).toHaveLength(itemCount);
    expect(session.entries().length).toBeGreaterThanOrEqual(COUNT / 2);
    expect(session.problems().length).toBeLessThanOrEqual(2 * COUNT);
    session.append({ type: "message", message: { role: "user", content: "next", timestamp: 0 } });
    expect(session.projection().items).toHaveLength(items.length + 1);
  });
});

test("fifty thousand damaged lines of every kind are told in no time", LIMIT, () => {
  const kinds = ["x", "{", "}", "{x}", "[x]", '"', "-", "tru", "7", "[]", "\0"];
  const lines = Array.from({ length: 50_000 }, (_, at) => kinds[at % kinds.length]);
  const content = `${HEADER}\n${says("aaaaaaaa", null)}\n${lines.join("\n")}\n`;
  const session = openSession({ store: new MemoryStore(content) });
  expect(session.leafId).toBe("aaaaaaaa");
  expect(session.problems()).toHaveLength(lines.length);
});

describe("one line of two megabytes", () => {
  class CountingStore extends MemoryStore {
    bytesRead = 0;

    override read(target: Uint8Array, offset: number): number {
      const count = super.read(target, offset);
      this.bytesRead += count;
      return count;
    }
  }
  const text = "x".repeat(2 << 20);
  const message = `"message":{"role":"user","content":"${text}","timestamp":0}`;

  test.each([
    ["its head first", `{"type":"message","id":"aaaaaaaa","parentId":null,${message}}`],
    ["its head last", `{${message},"type":"message","id":"aaaaaaaa","parentId":null}`],
    ["torn", `{"type":"message","id":"aaaaaaaa","parentId":null,${message}`],
    ["garbage", text],
  ])("%s: each byte is read a few times at most", (_, line) => {
    const store = new CountingStore(`${HEADER}\n${line}\n${says("bbbbbbbb", "aaaaaaaa")}\n`);
    const session = openSession({ store });
    session.projection();
    session.index();
    session.problems();
    expect(store.bytesRead).toBeLessThan(8 * store.size());
    expect(session.leafId).toBe("bbbbbbbb");
  });
});
