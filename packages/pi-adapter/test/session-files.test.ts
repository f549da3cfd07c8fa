import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { messageText } from "@bonsai-agent/messages";
import { createSession, newSessionFile, openSession } from "@bonsai-agent/session";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  buildSessionContext,
  migrateSessionEntries,
  parseSessionEntries,
  SessionManager,
} from "../src/modules/coding-agent.ts";
import { closeSessions, openPiSession } from "./open-pi-session.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "pi-sessions-"));
  vi.stubEnv("BONSAI_HOME", home);
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true });
});

function recorded() {
  const file = newSessionFile({ cwd: "/project", home, id: "recorded", now: new Date(0) });
  const session = createSession({ cwd: "/project", file });
  const say = (content: string) =>
    session.append({ type: "message", message: { role: "user", content, timestamp: 0 } });
  const first = say("One");
  say("Two");
  session.moveTo(first.id);
  say("Three");
  const { id } = session;
  session.close();
  return { file, id, first: first.id };
}

test("a session on disk is read, and never written", async () => {
  const { file, id, first } = recorded();
  const manager = SessionManager.open(file);
  expect([manager.getSessionFile(), manager.getSessionId(), manager.getCwd()]).toEqual([
    file,
    id,
    "/project",
  ]);
  expect(texts(manager)).toEqual(["One", "Three"]);
  const entries = manager.getEntries();
  expect(buildSessionContext(entries).messages.map(messageText)).toEqual(["One", "Three"]);
  const branch = entries.find((entry) => entry.type === "message" && messageText(entry.message) === "Two")!;
  expect(buildSessionContext(entries, branch.id).messages.map(messageText)).toEqual(["One", "Two"]);
  expect(buildSessionContext(entries, first).messages.map(messageText)).toEqual(["One"]);
  expect(buildSessionContext(entries, null).messages).toEqual([]);
  expect(await SessionManager.list("/project")).toMatchObject([{ path: file, id, firstMessage: "One" }]);
  expect(await SessionManager.listAll()).toHaveLength(1);
});

test("entries that are ancestors of themselves end somewhere", () => {
  const entry = (id: string, parentId: string) =>
    ({
      type: "message",
      id,
      parentId,
      timestamp: "",
      message: { role: "user", content: id, timestamp: 0 },
    }) as const;
  expect(buildSessionContext([entry("a", "b"), entry("b", "a")]).messages.map(messageText)).toEqual([
    "a",
    "b",
  ]);
});

const folder = () => join(home, "elsewhere");
const say = (content: string) => ({ role: "user", content, timestamp: 1 });
const answer = (text: string) => ({
  role: "assistant",
  content: [{ type: "text", text }],
  provider: "scripted",
  model: "one",
  api: "scripted",
  usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost: { total: 0 } },
  stopReason: "stop",
  timestamp: 2,
});
const texts = (manager: ReturnType<typeof SessionManager.open>) =>
  manager.buildSessionContext().messages.map(messageText);

test("a new session's file appears with its first answer, and is Bonsai's as any other", async () => {
  const manager = SessionManager.create("/project", folder(), {
    id: "of-mine",
    parentSession: "/from.jsonl",
  });
  const file = manager.getSessionFile()!;
  expect([dirname(file), manager.getSessionDir(), manager.isPersisted()]).toEqual([folder(), folder(), true]);
  manager.appendMessage(say("One"));
  manager.appendThinkingLevelChange("high");
  expect(existsSync(file)).toBe(false);
  manager.appendMessage(answer("Two"));
  expect(existsSync(file)).toBe(true);
  manager.appendCustomEntry("mine", { n: 1 });
  const session = openSession(file);
  expect(session.header).toMatchObject({ id: "of-mine", cwd: "/project", parentSession: "/from.jsonl" });
  expect(session.entries().map(({ type }) => type)).toEqual([
    "message",
    "thinking_level_change",
    "message",
    "custom",
  ]);
  expect(manager.buildSessionContext()).toMatchObject({
    thinkingLevel: "high",
    model: { provider: "scripted", modelId: "one" },
  });
  session.close();
  const branch = SessionManager.open(file);
  const label = branch.appendLabelChange(branch.getEntries()[0]!.id, "start");
  const branched = branch.createBranchedSession(branch.getEntries()[2]!.id)!;
  expect([label === branch.getLeafId(), texts(SessionManager.open(branched))]).toEqual([
    false,
    ["One", "Two"],
  ]);
  expect(branch.getLabel(branch.getEntries()[0]!.id)).toBe("start");
  rmSync(branched);
  const listed = await SessionManager.list("/project", folder());
  expect(listed).toMatchObject([
    {
      path: file,
      messageCount: 2,
      firstMessage: "One",
      allMessagesText: "One Two",
      parentSessionPath: "/from.jsonl",
    },
  ]);
  expect(await SessionManager.list("/other", folder())).toEqual([]);
  expect(await SessionManager.listAll(folder())).toHaveLength(1);
  expect(SessionManager.findById("/project", "of-mine", folder())).toBe(file);
  expect(SessionManager.continueRecent("/project", folder()).getSessionFile()).toBe(file);
  expect(SessionManager.continueRecent("/other", folder()).getEntries()).toEqual([]);
});

test("a session that was opened is read as it was until something is appended, on the branch that was chosen", () => {
  const { file, first } = recorded();
  const before = readFileSync(file, "utf8");
  const manager = SessionManager.open(file);
  manager.branch(first);
  expect([texts(manager), readFileSync(file, "utf8")]).toEqual([["One"], before]);
  const id = manager.appendMessage(say("Four"));
  expect(readFileSync(file, "utf8").startsWith(before)).toBe(true);
  expect(manager.getEntry(id)).toMatchObject({ parentId: first });
  expect(texts(SessionManager.open(file))).toEqual(["One", "Four"]);
  expect(manager.getChildren(first)).toHaveLength(3);
});

test("branches, labels, edits, summaries and names of a session in memory", () => {
  const manager = SessionManager.inMemory();
  const one = manager.appendMessage(say("One"));
  const two = manager.appendMessage(answer("Two"));
  manager.appendLabelChange(one, "start");
  manager.appendSessionInfo("a\nname ");
  expect([manager.getSessionName(), manager.getLabel(one), manager.getSessionFile()]).toEqual([
    "a name",
    "start",
    undefined,
  ]);
  manager.appendContextEdit(two, { content: "Two, edited" });
  expect(texts(manager)).toEqual(["One", "Two, edited"]);
  manager.appendContextEdit(one, null);
  expect(texts(manager)).toEqual(["Two, edited"]);
  const summary = manager.branchWithSummary(one, "Was left");
  expect(manager.getEntry(summary)).toMatchObject({ parentId: one, type: "branch_summary" });
  expect(() => manager.appendContextEdit(two, null)).toThrow(
    expect.objectContaining({ code: "pi_edit_refused" }),
  );
  expect(() => manager.appendContextEdit(summary, null)).toThrow("does not see its content");
  expect(() => manager.appendContextEdit(one, {} as never)).toThrow("must be null or have content");
  const compaction = manager.appendCompaction("All", null, 10);
  expect(manager.getEntry(compaction)).toMatchObject({ firstKeptEntryId: compaction });
  manager.appendModelChange("p", "m");
  manager.appendCustomMessageEntry("mine", "Shown", true);
  manager.appendUsage("warm", "p", "m", answer("").usage as never, "a note");
  expect(manager.buildSessionProjection()).toMatchObject({
    messages: [{ role: "compactionSummary" }, { role: "custom", content: "Shown" }],
    model: { provider: "p", modelId: "m" },
  });
  manager.createBranchedSession(two);
  expect(manager.getEntries().map(({ type }) => type)).toEqual(["message", "message", "label"]);
  expect(manager.getLabel(one)).toBe("start");
  manager.resetLeaf();
  expect([manager.getLeafId(), texts(manager)]).toEqual([null, []]);
  manager.newSession({ id: "next" });
  expect([manager.getSessionId(), manager.getEntries()]).toEqual(["next", []]);
});

test("a branched session has its labels behind the path, from when they were given", () => {
  const manager = SessionManager.inMemory("/project");
  const one = manager.appendMessage({ role: "user", content: "One", timestamp: 1 });
  manager.appendLabelChange(one, "first");
  const start = manager.appendLabelChange(one, "start");
  const change = manager.appendModelChange("p", "m");
  const two = manager.appendMessage({ role: "user", content: "Two", timestamp: 2 });
  const gone = manager.appendMessage({ role: "user", content: "Gone", timestamp: 3 });
  manager.appendLabelChange(gone, "gone");
  manager.appendLabelChange(two, "taken away");
  manager.appendLabelChange(two, undefined);
  const { timestamp } = manager.getEntry(start)!;
  manager.createBranchedSession(two);
  expect(manager.getEntries()).toMatchObject([
    { id: one, parentId: null },
    { id: change, parentId: one },
    { id: two, parentId: change },
    { type: "label", targetId: one, label: "start", parentId: two, timestamp },
  ]);
});

test("a copy for another folder has all branches, and says where it is from", () => {
  const { file } = recorded();
  const copy = SessionManager.forkFrom(file, "/other", folder(), { id: "copied" });
  expect(copy.getHeader()).toMatchObject({ id: "copied", cwd: "/other", parentSession: file });
  expect(copy.getEntries()).toEqual(SessionManager.open(file).getEntries());
  const branched = copy.createBranchedSession(copy.getEntries()[1]!.id)!;
  expect(existsSync(branched)).toBe(false);
  copy.appendMessage(answer("At last"));
  expect(texts(SessionManager.open(branched))).toEqual(["One", "Two", "At last"]);
});

test("entries and a header that are held elsewhere make a session in memory", () => {
  const { file, id } = recorded();
  const held = parseSessionEntries(`${readFileSync(file, "utf8")}{"cut o`);
  expect(SessionManager.inMemory("/project", {}, held).getSessionId()).toBe(id);
  expect(texts(SessionManager.inMemory("/project", {}, held.slice(1)))).toEqual(["One", "Three"]);
});

test("what was written by an older version is made one of today's, and goes on in a copy", () => {
  const lines = [
    { type: "session", id: "old", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/project" },
    { type: "message", timestamp: "2025-01-01T00:00:00.000Z", message: say("One") },
    { type: "message", timestamp: "2025-01-01T00:00:01.000Z", message: say("Two") },
  ];
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const entries = parseSessionEntries(text);
  migrateSessionEntries(entries);
  const [header, one, two] = entries as [object, { id: string }, object];
  expect([header, two]).toMatchObject([{ version: 3 }, { parentId: one.id }]);
  const file = join(home, "old.jsonl");
  writeFileSync(file, text);
  const manager = SessionManager.open(file);
  manager.appendMessage(say("Three"));
  expect(texts(manager)).toEqual(["One", "Two", "Three"]);
  expect(manager.getSessionFile()).not.toBe(file);
  expect([readFileSync(file, "utf8"), texts(SessionManager.open(file))]).toEqual([
    text,
    ["One", "Two", "Three"],
  ]);
});

test("what cannot be is refused, and no file is touched", () => {
  expect(SessionManager.open(join(home, "none.jsonl")).getEntries()).toEqual([]);
  expect(existsSync(join(home, "none.jsonl"))).toBe(false);
  const empty = join(home, "empty.jsonl");
  writeFileSync(empty, "");
  expect(SessionManager.open(empty).getSessionId()).toBe(SessionManager.open(empty).getSessionId());
  const other = join(home, "other.jsonl");
  writeFileSync(other, "no session\n");
  expect(() => SessionManager.open(other)).toThrow(expect.objectContaining({ code: "not_a_session" }));
  expect(() => SessionManager.create("/project", folder(), { id: "../up" })).toThrow(
    expect.objectContaining({ code: "pi_session_id_invalid" }),
  );
  const manager = SessionManager.inMemory();
  for (const missing of [
    () => manager.branch("nowhere"),
    () => manager.branchWithSummary("nowhere", ""),
    () => manager.createBranchedSession("nowhere"),
    () => manager.appendLabelChange("nowhere", "x"),
  ])
    expect(missing).toThrow(expect.objectContaining({ code: "pi_entry_missing" }));
});

test("only the agent appends to the session that is worked in", async () => {
  const file = join(home, "work.jsonl");
  const session = createSession({ cwd: "/project", file });
  session.append({ type: "message", message: { role: "user", content: "Hi", timestamp: 0 } });
  const opened = await openPiSession("append-beside", { session });
  await opened.command("/beside");
  expect(opened.notices).toMatchObject([{ message: expect.stringContaining("1 pi_session_in_use") }]);
  await closeSessions();
});
