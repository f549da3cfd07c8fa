import { writeFileSync } from "node:fs";
import { messageText } from "@bonsai-agent/messages";
import { expect, test } from "vitest";
import { createSession, type Entry, MemoryStore, openSession, project } from "../src/index.ts";
import { scratchFolder } from "./scratch-folder.ts";

const pathOf = scratchFolder();

const HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/w"}';
const stamp = { timestamp: "2026-01-05T09:00:00.000Z" };
const said = (content: string) =>
  ({ type: "message", message: { role: "user", content, timestamp: 0 } }) as const;

function says(id: string, parentId: string | null, text = id): string {
  return JSON.stringify({ ...said(text), id, parentId, ...stamp });
}

function compacts(id: string, parentId: string, firstKeptEntryId: string): string {
  const base = { type: "compaction", id, parentId, ...stamp };
  return JSON.stringify({ ...base, summary: id, firstKeptEntryId, tokensBefore: 1 });
}

const opened = (...lines: string[]) =>
  openSession({ store: new MemoryStore(`${[HEADER, ...lines].join("\n")}\n`) });
const texts = (session = opened()) => session.projection().items.map(({ message }) => messageText(message));

test("the later of two edits of one message counts, and it can bring back omitted text", () => {
  const session = createSession({ cwd: "/" });
  const { id: targetId } = session.append(said("first"));
  session.append({ type: "context_edit", targetId, replacement: null });
  expect(texts(session)).toEqual([]);
  session.append({ type: "context_edit", targetId, replacement: { content: "second" } });
  expect(texts(session)).toEqual(["second"]);
  session.append({ type: "context_edit", targetId, replacement: { content: "third" } });
  expect(texts(session)).toEqual(["third"]);
});

test("an edit that lost its replacement edits nothing", () => {
  const edit = { type: "context_edit", id: "e", parentId: "a", ...stamp, targetId: "a" };
  const session = opened(says("a", null), JSON.stringify(edit));
  expect(texts(session)).toEqual(["a"]);
  const { items } = project([session.entry("a")!, edit as unknown as Entry]);
  expect(items.map(({ entryId, edit: by }) => [entryId, by])).toEqual([["a", undefined]]);
});

test("a compaction keeps from the nearest entry of the id that it names, not from an older one", () => {
  const twice = [says("a", null, "old a"), says("b", "a"), says("a", "b", "new a"), says("c", "a")];
  const first = compacts("k", "c", "a");
  expect(texts(opened(...twice, first))).toEqual(["k", "new a", "c"]);
  // The second names nothing on the path: it keeps what the first kept.
  expect(texts(opened(...twice, first, compacts("l", "k", "nobody")))).toEqual(["l", "new a", "c"]);
});

test("a compaction that keeps nothing of a long path stays in view", () => {
  const session = createSession({ cwd: "/" });
  session.append(Array.from({ length: 5000 }, (_, at) => said(`${at}`)));
  const id = session.newId();
  session.append({ type: "compaction", id, summary: "sum", firstKeptEntryId: id, tokensBefore: 1 });
  session.append(said("next"));
  const last = session.leafId!;
  session.append({ type: "context_edit", targetId: last, replacement: { content: "changed" } });
  expect(texts(session)).toEqual(["sum", "changed"]);
  expect(session.projection()).toEqual(project(session.path()));
});

test("a child of a lost entry names that entry's parent, however the file is read", () => {
  const lost = says("b", "a").replace('"content":"b"', '"content":b');
  const session = opened(says("a", null), lost, says("c", "b"));
  const parents = (entries: readonly Entry[]) => entries.map(({ id, parentId }) => [id, parentId]);
  const expected = [
    ["a", null],
    ["c", "a"],
  ];
  expect(parents(session.path())).toEqual(expected);
  expect(parents(session.entries())).toEqual(expected);
});

test("no leaf is an entry whose body is lost", () => {
  const torn = says("b", "a").slice(0, -4);
  const session = opened(says("a", null), torn, says("c", "a"));
  const refused = expect.objectContaining({ code: "entry_not_found" });
  expect(() => session.projection("b")).toThrow(refused);
  expect(() => session.moveTo("b")).toThrow(refused);
  expect(session.leafId).toBe("c");
});

test("a session opened at its tail reads back what a new compaction keeps from before that", () => {
  const store = new MemoryStore(`${[HEADER, says("a", null), says("b", "a"), says("c", "b")].join("\n")}\n`);
  const writer = openSession({ store });
  writer.append({ type: "compaction", summary: "short", firstKeptEntryId: "c", tokensBefore: 1 });
  const session = openSession({ store });
  expect(texts(session)).toEqual(["short", "c"]);
  session.append({ type: "compaction", summary: "long", firstKeptEntryId: "b", tokensBefore: 1 });
  expect(texts(session)).toEqual(["long", "b", "c"]);
});

test("a file that was replaced by a shorter one is read anew", () => {
  const file = pathOf("replaced.jsonl");
  writeFileSync(file, `${[HEADER, says("a", null), says("b", "a"), says("c", "a")].join("\n")}\n`);
  const session = openSession(file);
  expect(session.entries().map(({ id }) => id)).toEqual(["a", "b", "c"]);
  writeFileSync(file, `${[HEADER, says("x", null, "other")].join("\n")}\n`);
  expect(session.entries().map(({ id }) => id)).toEqual(["x"]);
  expect(session.index().find("b")).toBe(-1);
  session.close();
});

test("entries that miss the same parent stay on one path, however many damaged lines there are", () => {
  const session = opened(
    ...[says("a", null), "{torn", says("b", "lost"), "{torn too", says("c", "b"), says("d", "lost")],
  );
  expect(session.path("b").map(({ id }) => id)).toEqual(["a", "b"]);
  expect(session.path("d").map(({ id }) => id)).toEqual(["a", "d"]);
});
