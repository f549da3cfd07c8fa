import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { chatPath, oldestHeldId } from "../../src/interactive/chat/chat-history.ts";

test("the chat shows the entries of the path, with masks and undone compactions", () =>
  everyRow([
    ["U A(t1) T1 A", "u1 a1 t1 a2"],
    ["U A U A C(u2) U A", "u1 a1 u2 a2 c1 u3 a3"],
    ["U A(t1) T1 A M(t1)", "u1 a1 t1* a2"],
    ["U A U A C(u2) Z(c1) U", "u1 a1 u2 a2 c1- u3"],
    ["U A m k l i p B! X S", "u1 a1 b1 x1 s1"],
    ["U A U A ^u1 A", "u1 a3"],
  ])(([notation, shown]) => {
    const { session, name } = history(notation);
    const { items, hasEarlier } = chatPath(session);
    const words = items.map(
      ({ entry, edit, isUndone }) => `${name(entry.id)}${edit ? "*" : ""}${isUndone ? "-" : ""}`,
    );
    expect(words.join(" ")).toBe(shown);
    expect(hasEarlier).toBe(false);
  }));

test("shows only the latest entries of a long path", () => {
  const { session, name } = history("U A ".repeat(20));
  const { items, hasEarlier } = chatPath(session, { maxItems: 3 });
  expect(items.map(({ entry }) => name(entry.id))).toEqual(["a19", "u20", "a20"]);
  expect(hasEarlier).toBe(true);
});

test("reads no entry before the floor", () => {
  const { session, name, id } = history("U A U A C(u2) U A");
  const floorId = oldestHeldId(session);
  expect(floorId).toBe(id("u2"));
  const asked: string[] = [];
  const watched = {
    leafId: session.leafId,
    entry: (entryId: string) => {
      asked.push(name(entryId));
      return session.entry(entryId);
    },
  };
  const { items, hasEarlier } = chatPath(watched, { floorId });
  expect(items.map(({ entry }) => name(entry.id))).toEqual(["u2", "a2", "c1", "u3", "a3"]);
  expect(hasEarlier).toBe(true);
  expect(asked).not.toContain("a1");
});

test("shows entries of a cycle once", () => {
  const base = { type: "message", timestamp: "", message: { role: "user", content: "x", timestamp: 0 } };
  const entries = { a: { ...base, id: "a", parentId: "b" }, b: { ...base, id: "b", parentId: "a" } };
  const entry = (id: string) => entries[id as "a" | "b"] as never;
  expect(chatPath({ leafId: "a", entry }).items).toHaveLength(2);
});
