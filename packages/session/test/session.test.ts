import type { AssistantMessage } from "@bonsai-agent/messages";
import { describe, expect, test } from "vitest";
import { createSession, type EntryDraft, MemoryStore, openSession } from "../src/index.ts";
import { WatchedStore } from "./watched-store.ts";

const said = (content: string) =>
  ({ type: "message", message: { role: "user", content, timestamp: 0 } }) as const;

test("a path has the entries in memory, and the older ones from the file", () => {
  const store = new MemoryStore();
  const session = createSession({ store, cwd: "/" });
  const [, kept, last] = session.append([said("one"), said("two"), said("three")]);
  session.append({ type: "compaction", summary: "sum", firstKeptEntryId: kept!.id, tokensBefore: 1 });
  const again = openSession({ store });
  const inMemory = [kept!.id, last!.id].map((id) => again.entry(id));
  const path = again.path();
  expect(path).toEqual(session.path());
  expect([path[1] === inMemory[0], path[2] === inMemory[1]]).toEqual([true, true]);
});

describe("appending", () => {
  test("below another entry is one write, after which the session stands there", () => {
    const store = new WatchedStore();
    const session = createSession({ store, cwd: "/" });
    const [first, second] = session.append([said("one"), said("two")]);
    const before = store.appends;
    const id = session.newId();
    const [summary, label] = session.append(
      [
        { type: "branch_summary", id, summary: "left", fromId: second!.id },
        { type: "label", targetId: id, label: "here" },
      ],
      { under: first!.id },
    );
    expect(store.appends).toBe(before + 1);
    expect([summary!.id, summary!.parentId, label!.parentId]).toEqual([id, first!.id, id]);
    const ids = [first!.id, id, label!.id];
    expect(session.path().map((entry) => entry.id)).toEqual(ids);
    const again = openSession({ store });
    expect(again.path().map((entry) => entry.id)).toEqual(ids);
    expect(again.projection()).toEqual(session.projection());
    expect(session.append(said("a new root"), { under: null }).parentId).toBeNull();
  });

  test("below an entry that is not there, or where the write fails, changes nothing", () => {
    const session = createSession({ cwd: "/" });
    const [first, second] = session.append([said("one"), said("two")]);
    const unknown = expect.objectContaining({ code: "entry_not_found" });
    expect(() => session.append(said("three"), { under: "nowhere" })).toThrow(unknown);
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const draft = { type: "custom", customType: "x", data: circle } as const;
    expect(() => session.append(draft, { under: first!.id })).toThrow(
      expect.objectContaining({ code: "entry_not_serializable" }),
    );
    expect(session.leafId).toBe(second!.id);
    expect(session.path()).toHaveLength(2);
  });

  test("several entries are one chain and one write", () => {
    const store = new WatchedStore();
    const session = createSession({ store, cwd: "/" });
    const appends = store.appends;
    const entries = session.append([said("one"), said("two"), said("three")]);
    expect(store.appends).toBe(appends + 1);
    expect(entries.map(({ parentId }) => parentId)).toEqual([null, entries[0]!.id, entries[1]!.id]);
    expect(session.leafId).toBe(entries[2]!.id);
    expect(session.append([])).toEqual([]);
    expect(store.appends).toBe(appends + 1);
  });

  test("ids are 8 hexadecimal characters and never the same", () => {
    const session = createSession({ cwd: "/" });
    const ids = session.append(Array.from({ length: 20_000 }, () => said(""))).map(({ id }) => id);
    expect(new Set(ids).size).toBe(20_000);
    expect(ids.every((id) => /^[0-9a-f]{8}$/.test(id))).toBe(true);
  });

  test("ids are longer while another process writes too", () => {
    const store = new MemoryStore();
    const session = createSession({ store, cwd: "/" });
    openSession({ store }).append(said("theirs"));
    session.append(said("ours"));
    expect(session.append(said("ours too")).id).toMatch(/^[0-9a-f]{16}$/);
  });

  test("a draft may name itself", () => {
    const session = createSession({ cwd: "/" });
    const id = session.newId();
    expect(session.append({ ...said("x"), id }).id).toBe(id);
    expect(session.entry(id)).toMatchObject(said("x"));
  });

  test("durability power flushes what holds a message, durability process nothing", () => {
    const flushesOf = (durability: "power" | "process") => {
      const store = new WatchedStore();
      const session = createSession({ store, cwd: "/", durability });
      session.append(said("one"));
      session.append({ type: "label", targetId: session.leafId!, label: "x" });
      session.append([{ type: "model_change", provider: "p", modelId: "m" }, said("two")]);
      return store.flushes;
    };
    expect(flushesOf("process")).toBe(0);
    expect(flushesOf("power")).toBe(2);
  });

  test("a value that is no JSON is refused, and nothing changes", () => {
    const session = createSession({ cwd: "/" });
    session.append(said("one"));
    const draft = { type: "custom", customType: "x", data: { big: 1n } } as EntryDraft;
    expect(() => session.append(draft)).toThrow(expect.objectContaining({ code: "entry_not_serializable" }));
    expect(session.entries()).toHaveLength(1);
  });
});

describe("moving the leaf", () => {
  test("survives a restart, and the record of it lies on no path that is written", () => {
    const store = new MemoryStore();
    const session = createSession({ store, cwd: "/" });
    const [one, two] = session.append([said("one"), said("two")]);
    session.moveTo(one!.id);
    expect(openSession({ store }).leafId).toBe(one!.id);
    const three = session.append(said("three"));
    expect(three.parentId).toBe(one!.id);
    expect(
      openSession({ store })
        .path()
        .map(({ type }) => type),
    ).toEqual(["message", "message"]);
    session.moveTo(null);
    expect(openSession({ store }).projection().items).toEqual([]);
    expect(session.append(said("new root")).parentId).toBeNull();
    expect(session.projection(two!.id).items).toHaveLength(2);
  });

  test("another program may go on below the record of the move", () => {
    const store = new MemoryStore();
    const session = createSession({ store, cwd: "/" });
    const [one] = session.append([said("one"), said("two")]);
    session.moveTo(one!.id);
    const marker = session.entries().at(-1)!;
    store.append(
      `${JSON.stringify({ ...said("theirs"), id: "beefbeef", parentId: marker.id, timestamp: "" })}\n`,
    );
    const reopened = openSession({ store });
    expect(reopened.leafId).toBe("beefbeef");
    expect(reopened.projection().items.map(({ entryId }) => entryId)).toEqual([one!.id, "beefbeef"]);
    reopened.append(said("ours"));
    expect(openSession({ store }).projection().items).toHaveLength(3);
  });

  test("needs an entry that is there", () => {
    const session = createSession({ cwd: "/" });
    session.append(said("one"));
    const refused = expect.objectContaining({ code: "entry_not_found" });
    expect(() => session.moveTo("nobody")).toThrow(refused);
    expect(() => session.path("nobody")).toThrow(refused);
    expect(() => session.projection("nobody")).toThrow(refused);
    expect(session.entry("nobody")).toBeUndefined();
    expect(session.entries()).toHaveLength(1);
  });
});

describe("labels and the name", () => {
  test("the latest in file order counts, on whatever branch; an absent label clears", () => {
    const session = createSession({ cwd: "/" });
    const [one, two] = session.append([said("one"), said("two")]);
    expect([session.label(one!.id), session.name]).toEqual([undefined, undefined]);
    session.append([
      { type: "label", targetId: one!.id, label: "first" },
      { type: "label", targetId: two!.id, label: "gone" },
      { type: "session_info", name: "Old name" },
    ]);
    session.moveTo(one!.id);
    session.append([
      { type: "label", targetId: one!.id, label: "renamed" },
      { type: "label", targetId: two!.id },
      { type: "session_info", name: "Name" },
    ]);
    expect([...session.labels()]).toEqual([[one!.id, "renamed"]]);
    expect([session.label(two!.id), session.name]).toEqual([undefined, "Name"]);
  });
});

describe("model and thinking level", () => {
  test("are those of the path, not of the file", () => {
    const session = createSession({ cwd: "/" });
    expect(session.settings()).toEqual({});
    const [one] = session.append([
      { type: "model_change", provider: "p", modelId: "m1" },
      { type: "thinking_level_change", thinkingLevel: "high" },
    ]);
    session.append([
      said("x"),
      { type: "model_change", provider: "p", modelId: "m2" },
      { type: "thinking_level_change", thinkingLevel: "off" },
    ]);
    expect(session.settings()).toEqual({ model: { provider: "p", modelId: "m2" }, thinkingLevel: "off" });
    session.moveTo(one!.id);
    expect(session.settings()).toEqual({ model: { provider: "p", modelId: "m1" } });
  });

  test("an answer names its model; what a compaction hid still counts", () => {
    const store = new MemoryStore();
    const session = createSession({ store, cwd: "/" });
    const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
    const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, cost };
    const answer: AssistantMessage = {
      role: "assistant",
      content: [],
      api: "a",
      provider: "p",
      model: "m3",
      usage,
      stopReason: "stop",
      timestamp: 0,
    };
    session.append([
      { type: "thinking_level_change", thinkingLevel: "high" },
      { type: "message", message: answer },
      said("x"),
    ]);
    const id = session.newId();
    session.append({ type: "compaction", id, firstKeptEntryId: id, summary: "sum", tokensBefore: 1 });
    const settings = { model: { provider: "p", modelId: "m3" }, thinkingLevel: "high" };
    expect(session.settings()).toEqual(settings);
    expect(openSession({ store }).settings()).toEqual(settings);
  });
});
