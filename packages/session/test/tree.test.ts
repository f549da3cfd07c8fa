import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createSession, kindWord, openSession } from "../src/index.ts";
import { scratchFolder } from "./scratch-folder.ts";

const pathOf = scratchFolder();
const place = (id: string, parentId: string | null) => ({
  id,
  parentId,
  timestamp: "2026-01-05T09:00:00.000Z",
});

/** Lines in the layouts that other programs and hand-edited files have. */
const lines = [
  { type: "session", version: 3, ...place("s", null), cwd: "/" },
  { type: "message", ...place("a", null), message: { role: "user", content: "one", timestamp: 0 } },
  { type: "message", ...place("b", "a"), message: { content: [], role: "assistant", timestamp: 0 } },
  { message: { role: "toolResult", content: [] }, ...place("c", "b"), type: "message" },
  { type: "message", ...place("d", "c"), message: { role: "hookMessage", content: "x" } },
  { type: "message", ...place("e", "d"), message: { role: "constructor", content: "x" } },
  { type: "message", ...place("f", "e"), extra: { message: { role: "user" } }, message: { role: "system" } },
  { type: "message", ...place("g", "f"), message: "lost" },
  { type: "custom", ...place("h", "g"), customType: "bonsai.undo", data: { compactionId: "x" } },
  { type: "custom", ...place("i", "h"), customType: "of another" },
  { type: "custom_message", ...place("j", "i"), customType: "bonsai.pin", details: { text: "t", line: "t" } },
  { type: "hologram", ...place("k", "j") },
  { type: "custom", ...place("l", "b"), customType: "bonsai.leaf" },
];

test("the kind of each entry is the same from its head as from all of it", () => {
  const file = pathOf("kinds.jsonl");
  const odd =
    '{"type":"message","id":"m","parentId":"b","timestamp":"x","message":{"role":"us\\u0065r","content":[]}}';
  writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n${odd}\n`);
  const [quick, parsed] = [openSession(file).tree(), openSession(file).tree({ isParsed: true })];
  expect(quick.entries).toEqual(parsed.entries);
  expect(quick.entries.map(({ kind }) => kind)).toEqual([
    ...["user", "assistant", "result", "extension", "constructor", "system", "note", "note"],
    ...["extension", "pin", "hologram", "note", "user"],
  ]);
  expect(quick.entries.map(({ isLeafRecord }) => isLeafRecord).lastIndexOf(true)).toBe(11);
});

test.each([
  '{"customType":"bonsai.leaf","type":"custom","id":"n","parentId":"a","timestamp":"x"}',
  '{"type":"custom","id":"n","parentId":"a","timestamp":"x","message":{"role":"user"},"customType":"bonsai.leaf"}',
])("a record of a moved leaf is no branch, although its head does not tell that it is one: %s", (moved) => {
  const file = pathOf("moved.jsonl");
  writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n${moved}\n`);
  expect(openSession(file).branchCount).toBe(1);
  expect(openSession(file).tree().entries.at(-1)).toMatchObject({ id: "n", isLeafRecord: true });
});

test("roots and children come with the active branch first, without records of a moved leaf at an end", () => {
  const session = createSession({ cwd: "/" });
  const said = (content: string) =>
    session.append({ type: "message", message: { role: "user", content, timestamp: 0 } });
  const root = said("root");
  const [left, end] = [said("left"), said("left end")];
  session.moveTo(root.id);
  const right = said("right");
  session.moveTo(left.id);
  const tree = session.tree();
  const at = (id: string) => tree.entries.findIndex((entry) => entry.id === id);
  const idsOf = (positions: readonly number[]) => positions.map((each) => tree.entries[each]!.id);
  expect(idsOf(tree.roots)).toEqual([root.id]);
  expect(idsOf(tree.children(at(root.id)))).toEqual([left.id, right.id]);
  expect(idsOf(tree.children(at(left.id)))).toEqual([end.id]);
  expect([left, end, right].map(({ id }) => tree.isActive(at(id)))).toEqual([true, false, false]);
  expect(tree.branchCount).toBe(2);
  expect(session.branchCount).toBe(2);
  expect(tree.entry(at(end.id))).toEqual(end);
});

test("a word for each role and type, and for what nobody knows its own name", () => {
  expect(["toolResult", "branch_summary", "usage", "constructor"].map(kindWord)).toEqual([
    ...["result", "branch", "usage", "constructor"],
  ]);
});
