import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createSession, type Entry, MemoryStore, openSession, type Session } from "@bonsai-agent/session";
import { isLeafRecord } from "@bonsai-agent/session/host";
import { generateSession, history, treeArbitrary } from "@bonsai-agent/testkit";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import type { SessionTreeNode } from "../src/host/index.ts";
import { sessionManagerOf } from "../src/host/session-manager.ts";

const of = (session: Session) => sessionManagerOf(() => session);
const isShown = (entry: Entry) => !isLeafRecord(entry);

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "bonsai-manager-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

test("returns the session's id, file, folder and name", () => {
  const file = join(folder(), "s.jsonl");
  const session = createSession({ cwd: "/project", file });
  session.append({ type: "session_info", name: "Doors" });
  expect(of(session).getSessionFile()).toBe(file);
  expect(of(session).getSessionDir()).toBe(dirname(file));
  expect(of(session).getSessionId()).toBe(session.id);
  expect(of(session).getSessionName()).toBe("Doors");
  expect(of(session).getCwd()).toBe("/project");
  expect(of(session).getHeader()).toEqual(session.header);
  session.close();
});

test("a session in memory has no file, and its folder is the working folder", () => {
  const manager = of(createSession({ cwd: "/project" }));
  expect(manager.getSessionFile()).toBeUndefined();
  expect(manager.getSessionDir()).toBe("/project");
  expect([manager.getLeafId(), manager.getLeafEntry(), manager.getBranch(), manager.getTree()]).toEqual([
    null,
    undefined,
    [],
    [],
  ]);
});

test("returns branches, entries, labels and the tree", () => {
  const { session, id, name } = history("U A U A l(u2) ^a1 U A");
  const manager = of(session);
  const names = (entries: readonly { id: string }[]) => entries.map((entry) => name(entry.id)).join(" ");
  expect(names(manager.getBranch())).toBe("u1 a1 u3 a3");
  expect(names(manager.getBranch(id("a2")))).toBe("u1 a1 u2 a2");
  expect(manager.getBranch("nowhere")).toEqual([]);
  expect(manager.getEntry("nowhere")).toBeUndefined();
  expect(manager.getEntry(id("u2"))).toEqual(session.entry(id("u2")));
  expect(manager.getLeafEntry()?.id).toBe(manager.getLeafId());
  expect(manager.getEntries()).toEqual(session.entries().filter(isShown));
  const label = session.label(id("u2"));
  expect(label).toBeTypeOf("string");
  expect(manager.getLabel(id("u2"))).toBe(label);
  const [root] = manager.getTree();
  expect(root?.entry.id).toBe(id("u1"));
  const [first, second] = root!.children[0]!.children;
  const labelTimestamp = session.entries().find(({ type }) => type === "label")!.timestamp;
  expect(first).toMatchObject({ entry: { id: id("u2") }, label, labelTimestamp });
  expect(second).not.toHaveProperty("label");
});

test("the context is the model's view: the summary, then the kept entries and later ones", () => {
  const { session, id, name } = history("U A U m A C(u2) U A");
  const { messages } = of(session).buildSessionContext();
  expect(messages).toEqual(session.projection().items.map(({ message }) => message));
  const entries = of(session).buildContextEntries();
  expect(entries.map((entry) => entry.type)).toEqual([
    "compaction",
    "message",
    "model_change",
    "message",
    "message",
    "message",
  ]);
  expect(name(entries[1]!.id)).toBe("u2");
  expect(of(history("U A").session).buildContextEntries()).toHaveLength(2);
  const nothingKept = history("U A C() U");
  expect(of(nothingKept.session).buildContextEntries()).toHaveLength(2);
  expect(id("c1")).toBe(entries[0]!.id);
});

test("the projection is the context with the entry of each message, the model and the thinking level", () => {
  const { session, id } = history("U A C(a1) U m");
  session.append({ type: "thinking_level_change", thinkingLevel: "high" });
  const manager = of(session);
  const { entries, ...context } = manager.buildSessionProjection();
  expect(manager.buildSessionContext()).toEqual(context);
  expect(entries.map(({ sourceEntry }) => sourceEntry)).toEqual(manager.buildContextEntries());
  expect(entries.flatMap(({ messages }) => messages)).toEqual(context.messages);
  const [summary, answer] = entries;
  expect(summary).toMatchObject({ sourceEntry: { id: id("c1") }, messages: [{ role: "compactionSummary" }] });
  expect(answer!.sourceEntry.id).toBe(id("a1"));
  const settings = session.settings();
  expect(context).toMatchObject({ thinkingLevel: "high", model: settings.model });
  expect(of(createSession({ cwd: "/project" })).buildSessionContext()).toEqual({
    messages: [],
    thinkingLevel: "off",
    model: null,
  });
});

test("leaf records are in no list; their children move to the leaf's former position", () => {
  const line = (fields: object) => `${JSON.stringify(fields)}\n`;
  const entry = (id: string, parentId: string | null, rest: object) =>
    line({ id, parentId, timestamp: "2026-01-01T00:00:00.000Z", ...rest });
  const say = (content: string) => ({ type: "message", message: { role: "user", content, timestamp: 0 } });
  const moved = { type: "custom", customType: "bonsai.leaf" };
  const content = [
    line({ type: "session", version: 3, id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" }),
    entry("a", null, say("a")),
    entry("b", "a", say("b")),
    entry("toA", "a", moved),
    entry("c", "toA", say("c")),
    entry("again", "toA", moved),
    entry("d", "again", { type: "label", targetId: "c", label: "here" }),
    entry("toNone", null, moved),
    entry("e", "toNone", say("e")),
  ].join("");
  const session = openSession({ store: new MemoryStore(content) });
  const manager = of(session);
  const parents = (entries: readonly Entry[]) =>
    entries.map(({ id, parentId }) => `${id}<${parentId}`).join(" ");
  expect(parents(manager.getEntries())).toBe("a<null b<a c<a d<a e<null");
  for (const { id, parentId } of manager.getEntries()) expect(manager.getEntry(id)!.parentId).toBe(parentId);
  expect(parents(manager.getBranch("d"))).toBe("a<null d<a");
  expect(parents(manager.getBranch())).toBe("e<null");
  expect(manager.getLeafEntry()).toMatchObject({ id: "e", parentId: null });
  expect(parents(manager.buildContextEntries())).toBe("e<null");
  expect(manager.getEntry("toA")).toBeUndefined();
  const [a, e] = manager.getTree();
  expect(a!.children.map((node) => node.entry.id)).toEqual(["b", "c", "d"]);
  expect(a!.children[1]).toMatchObject({ label: "here" });
  expect(e!.entry.id).toBe("e");
  session.moveTo("b");
  session.append({ type: "message", message: { role: "user", content: "f", timestamp: 0 } });
  expect(
    manager
      .getBranch()
      .map(({ id }) => id)
      .slice(0, 2),
  ).toEqual(["a", "b"]);
  expect(manager.getEntry("c")).toBe(manager.getEntries().find(({ id }) => id === "c"));
});

test("an extension's changes to its copies do not reach the session", () => {
  const { session } = history("U A(t1) T1 A C(a2) U");
  const before = JSON.stringify(session.entries());
  const manager = of(session);
  const [entry] = manager.getBranch();
  expect(() => Object.assign(entry!, { parentId: "x" })).toThrow(TypeError);
  const message = manager.buildSessionContext().messages.at(-1) as { content: unknown[] };
  expect(() => Object.assign(message, { content: [] })).toThrow(TypeError);
  expect(() => Object.assign(manager.getHeader(), { cwd: "/" })).toThrow(TypeError);
  // The lists are the caller's own.
  manager.getBranch().reverse();
  manager.getEntries().length = 0;
  manager.getTree()[0]!.children.length = 0;
  expect(manager.getBranch()[0]).toBe(entry);
  expect(manager.getTree()[0]!.children).toHaveLength(1);
  expect(JSON.stringify(session.entries())).toBe(before);
});

test("stored data look as they will in the file", () => {
  const session = createSession({ cwd: "/project" });
  const data = { at: new Date(0), nothing: undefined, deep: [{ n: 1 }] };
  const { id } = session.append({ type: "custom", customType: "x", data });
  expect(of(session).getEntry(id)).toMatchObject({
    data: { at: "1970-01-01T00:00:00.000Z", deep: [{ n: 1 }] },
  });
  data.deep[0]!.n = 2;
  expect(of(session).getEntry(id)).toMatchObject({ data: { deep: [{ n: 1 }] } });
});

test("the branch follows the leaf through growth, moves and compactions", () => {
  const past = history("U A U A");
  const { session, id } = past;
  const manager = of(session);
  const same = () => expect(manager.getBranch()).toEqual(session.path());
  same();
  history("U A(t1) T1 A", session);
  same();
  session.moveTo(id("a1"));
  same();
  history("U A", session);
  same();
  session.moveTo(null);
  same();
  session.append({ type: "message", message: { role: "user", content: "Hi", timestamp: 0 } });
  same();
});

test("law: branches and tree equal the session's for any tree", () => {
  fc.assert(
    fc.property(treeArbitrary(), (notation) => {
      const { session } = history(notation);
      const manager = of(session);
      const shown = session.entries().filter(isShown);
      for (const { id } of shown)
        expect(manager.getBranch(id).map((entry) => entry.id)).toEqual(
          session.path(id).map((entry) => entry.id),
        );
      const below = ({ entry, children }: SessionTreeNode): string[] => [
        entry.id,
        ...children.flatMap(below),
      ];
      expect(manager.getTree().flatMap(below).sort()).toEqual(shown.map(({ id }) => id).sort());
      for (const { entry, children } of nodesOf(manager.getTree()))
        for (const child of children) expect(child.entry.parentId).toBe(entry.id);
    }),
  );
});

function nodesOf(nodes: readonly SessionTreeNode[]): SessionTreeNode[] {
  return nodes.flatMap((node) => [node, ...nodesOf(node.children)]);
}

test("a long session's branch is read from its file", () => {
  const file = join(folder(), "long.jsonl");
  generateSession({ file, entries: 2_000, averageBytes: 600, compactions: 2, branchiness: 0.1 });
  const session = openSession(file);
  const manager = of(session);
  expect(manager.getEntries()).toEqual(session.entries().filter(isShown));
  expect(manager.getBranch()).toEqual(session.path());
  expect(manager.buildSessionContext().messages).toEqual(
    session.projection().items.map(({ message }) => message),
  );
  session.close();
});
