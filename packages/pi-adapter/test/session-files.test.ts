import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageText } from "@bonsai-agent/messages";
import { createSession, newSessionFile } from "@bonsai-agent/session";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { buildSessionContext, SessionManager } from "../src/modules/coding-agent.ts";

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
  const texts = manager.buildSessionContext().messages.map(messageText);
  expect(texts).toEqual(["One", "Three"]);
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

test("what would write is refused with what to use instead", () => {
  for (const name of ["create", "inMemory", "continueRecent"] as const)
    expect(() => SessionManager[name]()).toThrow(expect.objectContaining({ code: "pi_method_missing" }));
  expect(() => SessionManager.open(join(home, "none.jsonl"))).toThrow("ENOENT");
});
