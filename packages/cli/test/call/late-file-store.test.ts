import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createSession, JsonlStore, openSession, type SessionStore } from "@bonsai-agent/session";
import { sessionStoreCases } from "@bonsai-agent/session/store-conformance";
import { describe, expect, test } from "vitest";
import { LateFileStore } from "../../src/call/session-choice.ts";
import { testFolder } from "./sample-session.ts";

function fileStore(content: string): SessionStore {
  const store = new LateFileStore(join(testFolder(), "session.jsonl"));
  store.append(content);
  store.append("");
  return store;
}

describe("conformance", () => {
  const factory = { create: fileStore, reopen: (store: SessionStore) => JsonlStore.open(store.file!) };
  for (const { name, run } of sessionStoreCases(factory)) test(name, run);
});

describe("a session in it", () => {
  const said = { type: "message", message: { role: "user", content: "hello", timestamp: 0 } } as const;

  test("writes its file at the first entry", () => {
    const file = join(testFolder(), "session.jsonl");
    const session = createSession({ store: new LateFileStore(file), cwd: "/project" });
    expect([session.file, existsSync(file)]).toEqual([file, false]);
    session.append(said);
    expect(openSession(file).entries()).toEqual(session.entries());
    session.append({ type: "session_info", name: "n" });
    expect(openSession(file).entries()).toEqual(session.entries());
    expect(openSession(file).header).toEqual(session.header);
    expect(session.notices).toEqual([]);
    session.close();
  });

  test("continues in a copy after its file was deleted", () => {
    const file = join(testFolder(), "session.jsonl");
    const session = createSession({ store: new LateFileStore(file), cwd: "/project" });
    session.append(said);
    rmSync(file);
    session.append(said);
    session.close();
    expect(openSession(session.file!).entries()).toHaveLength(2);
    expect(session.notices.map(({ code }) => code)).toEqual(["restored_copy"]);
  });

  test("a store closed without an entry leaves no file", () => {
    const file = join(testFolder(), "session.jsonl");
    createSession({ store: new LateFileStore(file), cwd: "/project" }).close();
    expect(existsSync(file)).toBe(false);
  });

  test("tells at the first entry that no file can be made, changes nothing, and can be tried again", () => {
    const folder = join(testFolder(), "home");
    writeFileSync(folder, "in the way");
    const file = join(folder, "session.jsonl");
    const session = createSession({ store: new LateFileStore(file), cwd: "/project" });
    expect(() => session.append(said)).toThrow(expect.objectContaining({ code: "session_not_created" }));
    expect([session.leafId, session.entries()]).toEqual([null, []]);
    expect(readFileSync(folder, "utf8")).toBe("in the way");
  });

  test("replaces no existing file", () => {
    const folder = testFolder();
    mkdirSync(join(folder, "x"));
    const file = join(folder, "x", "session.jsonl");
    const session = createSession({ store: new LateFileStore(file), cwd: "/project" });
    writeFileSync(file, "somebody else's");
    expect(() => session.append(said)).toThrow(expect.objectContaining({ code: "session_exists" }));
    expect(readFileSync(file, "utf8")).toBe("somebody else's");
  });
});
