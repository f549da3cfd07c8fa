import { writeFileSync } from "node:fs";
import { messageText } from "@bonsai-agent/messages";
import { expect, test } from "vitest";
import { createSession, forkSession, openSession, repairSession, type Session } from "../src/index.ts";
import { scratchFolder } from "./scratch-folder.ts";

// Content that a fork or a repaired copy must keep beside its lines.
const pathOf = scratchFolder();
const HEADER = '{"type":"session","version":3,"id":"s","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/w"}';
const stamp = { timestamp: "2026-01-05T09:00:00.000Z" };
const said = (content: string) =>
  ({ type: "message", message: { role: "user", content, timestamp: 0 } }) as const;
const says = (id: string, parentId: string | null, text = id) =>
  JSON.stringify({ ...said(text), id, parentId, ...stamp });
const texts = (session: Session) => session.projection().items.map(({ message }) => messageText(message));

function repaired(name: string, ...lines: string[]): { origin: Session; copy: Session } {
  const [file, out] = [pathOf(`${name}.jsonl`), pathOf(`${name}-copy.jsonl`)];
  writeFileSync(file, `${[HEADER, ...lines].join("\n")}\n`);
  repairSession(file, out);
  expect(openSession(out).problems()).toEqual([]);
  return { origin: openSession(file), copy: openSession(out) };
}

test("a label that lies on the copied path and was cleared on another branch is cleared in the fork", () => {
  const session = createSession({ cwd: "/p", file: pathOf("cleared.jsonl") });
  const [one] = session.append([said("one"), said("two")]);
  session.append({ type: "label", targetId: one!.id, label: "start" });
  const last = session.append(said("three"));
  session.moveTo(one!.id);
  session.append({ type: "label", targetId: one!.id });
  const fork = openSession(forkSession(session, { at: last.id, file: pathOf("cleared-fork.jsonl") }));
  expect(session.label(one!.id)).toBeUndefined();
  expect(fork.label(one!.id)).toBeUndefined();
  expect(fork.leafId).toBe(last.id);
});

test("a name that was taken back on another branch is taken back in the fork", () => {
  const session = createSession({ cwd: "/p", file: pathOf("named.jsonl") });
  const one = session.append(said("one"));
  session.append({ type: "session_info", name: "Draft" });
  const last = session.append(said("two"));
  session.moveTo(one.id);
  session.append({ type: "session_info" });
  const fork = openSession(forkSession(session, { at: last.id, file: pathOf("named-fork.jsonl") }));
  expect([session.name, fork.name]).toEqual([undefined, undefined]);
});

test("a repaired copy stands where the damaged file stood, also when its last line moved before its child", () => {
  const { origin, copy } = repaired("moved", says("b", "a"), says("a", null));
  expect([origin.leafId, copy.leafId]).toEqual(["a", "a"]);
  expect(copy.path().map(({ id }) => id)).toEqual(["a"]);
  expect(copy.path("b").map(({ id }) => id)).toEqual(["a", "b"]);
});

test("a repaired compaction keeps from the entry that it meant, though that one has a new id", () => {
  const kept = JSON.stringify({
    ...{ type: "compaction", id: "k", parentId: "c", ...stamp },
    ...{ summary: "sum", firstKeptEntryId: "a", tokensBefore: 1 },
  });
  const lines = [says("a", null, "old a"), says("b", "a"), says("a", "b", "new a"), says("c", "a"), kept];
  const { origin, copy } = repaired("twice", ...lines);
  expect(texts(origin)).toEqual(["sum", "new a", "c"]);
  expect(texts(copy)).toEqual(["sum", "new a", "c"]);
});
