import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { messageText } from "@bonsai-agent/messages";
import { createSession, newSessionFile, openSession } from "@bonsai-agent/session";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openKept, readKeptAgain, SessionManager } from "../src/sdk/session-manager.ts";
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

const say = (content: string) => ({ role: "user" as const, content, timestamp: 1 });
const texts = (manager: ReturnType<typeof SessionManager.open>) =>
  manager.buildSessionContext().messages.map(messageText);

/** A session with two branches: One, Two and One, Three. */
function recorded() {
  const file = newSessionFile({ cwd: "/project", home, id: "recorded", now: new Date(0) });
  const session = createSession({ cwd: "/project", file });
  const first = session.append({ type: "message", message: say("One") });
  const second = session.append({ type: "message", message: say("Two") });
  session.append({ type: "label", targetId: first.id, label: "start" });
  session.moveTo(first.id);
  session.append({ type: "message", message: say("Three") });
  const { id } = session;
  session.close();
  return { file, id, second: second.id };
}

test("a session on disk is read, and listed by its folder", async () => {
  const { file, id } = recorded();
  const before = readFileSync(file, "utf8");
  const manager = SessionManager.open(file);
  expect([manager.getSessionFile(), manager.getSessionId(), manager.getCwd()]).toEqual([
    ...[file, id, "/project"],
  ]);
  expect(texts(manager)).toEqual(["One", "Three"]);
  expect(readFileSync(file, "utf8")).toBe(before);
  expect(await SessionManager.list("/project")).toMatchObject([{ path: file, id, firstMessage: "One" }]);
  expect(await SessionManager.list("/other", dirname(file))).toEqual([]);
  expect(await SessionManager.listAll(dirname(file))).toHaveLength(1);
});

test("the file of a new session appears when an agent opens it", () => {
  const folder = join(home, "elsewhere");
  const options = { id: "of-mine", parentSession: "/from.jsonl" };
  const manager = SessionManager.create("/project", folder, options);
  const file = manager.getSessionFile()!;
  expect([dirname(file), manager.getSessionDir(), manager.isPersisted()]).toEqual([folder, folder, true]);
  expect(existsSync(file)).toBe(false);
  const session = openKept(manager);
  expect(session.header).toMatchObject({ id: "of-mine", cwd: "/project", parentSession: "/from.jsonl" });
  session.append({ type: "message", message: say("One") });
  expect(texts(manager)).toEqual(["One"]);
  session.close();
  readKeptAgain(manager);
  expect([texts(manager), texts(SessionManager.open(file))]).toEqual([["One"], ["One"]]);
});

test("a session in memory has no file", () => {
  const manager = SessionManager.inMemory("/project");
  expect([manager.getSessionFile(), manager.isPersisted(), manager.getCwd()]).toEqual([
    ...[undefined, false, "/project"],
  ]);
  openKept(manager).append({ type: "message", message: say("One") });
  expect(texts(manager)).toEqual(["One"]);
  expect(() => manager.createBranchedSession("x")).toThrow(
    expect.objectContaining({ code: "pi_session_invalid" }),
  );
});

test("a branched session is a copy of one path, with its labels and its origin", () => {
  const { file, second } = recorded();
  const manager = SessionManager.open(file, join(home, "forks"));
  const branched = manager.createBranchedSession(second);
  expect([dirname(branched), manager.getSessionFile(), texts(manager)]).toEqual([
    ...[join(home, "forks"), branched, ["One", "Two"]],
  ]);
  expect(manager.getHeader()).toMatchObject({ cwd: "/project", parentSession: file });
  expect(manager.getLabel(manager.getEntries()[0]!.id)).toBe("start");
  expect(texts(SessionManager.open(file))).toEqual(["One", "Three"]);
  expect(() => manager.createBranchedSession("nowhere")).toThrow(
    expect.objectContaining({ code: "entry_not_found" }),
  );
});

test("an agent continues a session of an older version in a copy", () => {
  const lines = [
    { type: "session", id: "old", timestamp: "2025-01-01T00:00:00.000Z", cwd: "/project" },
    { type: "message", timestamp: "2025-01-01T00:00:00.000Z", message: say("One") },
  ];
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const file = join(home, "old.jsonl");
  writeFileSync(file, text);
  const manager = SessionManager.open(file);
  const session = openKept(manager);
  session.append({ type: "message", message: say("Two") });
  session.close();
  readKeptAgain(manager);
  expect(texts(manager)).toEqual(["One", "Two"]);
  expect([manager.getSessionFile() === file, readFileSync(file, "utf8")]).toEqual([false, text]);
});

test("a path without a session is the place of a new one, or refused", () => {
  const none = join(home, "none.jsonl");
  expect(SessionManager.open(none).getEntries()).toEqual([]);
  expect(existsSync(none)).toBe(false);
  const other = join(home, "other.jsonl");
  writeFileSync(other, "no session\n");
  expect(() => SessionManager.open(other)).toThrow(expect.objectContaining({ code: "not_a_session" }));
  expect(() => openKept({})).toThrow(expect.objectContaining({ code: "pi_session_invalid" }));
});

test("the open session belongs to its agent", async () => {
  const file = join(home, "work.jsonl");
  const session = createSession({ cwd: "/project", file });
  session.append({ type: "message", message: say("Hi") });
  const opened = await openPiSession("session-in-use", { session });
  await opened.command("/beside");
  expect(opened.notices).toMatchObject([{ message: expect.stringContaining("1 pi_session_in_use") }]);
  await closeSessions();
  const reopened = openSession(file);
  expect(reopened.entries()).toHaveLength(1);
  reopened.close();
});
