import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { messageText } from "@bonsai-agent/messages";
import { expect, test } from "vitest";
import { createSession, openSession, type Session } from "../src/index.ts";

function newSession(): { session: Session; file: string } {
  const file = join(mkdtempSync(join(tmpdir(), "deleted-")), "day.jsonl");
  return { session: createSession({ cwd: "/home/dev/shop", file }), file };
}

function say(session: Session, text: string): void {
  session.append({ type: "message", message: { role: "user", content: text, timestamp: 0 } });
}

function texts(file: string): unknown[] {
  const session = openSession(file);
  const said = session
    .entries()
    .map((entry) => (entry.type === "message" ? messageText(entry.message) : entry.type));
  session.close();
  return said;
}

test("a file that is deleted while it is open is written anew, whole, and goes on", () => {
  const { session, file } = newSession();
  say(session, "one");
  rmSync(file);
  say(session, "two");
  session.close();
  expect(texts(file)).toEqual(["one", "two"]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(session.notices.map(({ code }) => code)).toEqual(["file_deleted"]);
});

test("what is appended after that is in the new file", () => {
  const { session, file } = newSession();
  say(session, "one");
  rmSync(file);
  session.entries();
  expect(existsSync(file)).toBe(true);
  say(session, "two");
  expect(texts(file)).toEqual(["one", "two"]);
  session.close();
});

test("whatever has its name meanwhile stays as it is", () => {
  const { session, file } = newSession();
  say(session, "one");
  rmSync(file);
  writeFileSync(file, "somebody else's\n");
  say(session, "two");
  session.close();
  expect(readFileSync(file, "utf8")).toBe("somebody else's\n");
  expect(session.file).toBe(join(dirname(file), "day.restored.jsonl"));
  expect(texts(session.file!)).toEqual(["one", "two"]);
});

test("where it cannot be written anew, a notice says so, and the session goes on", () => {
  const { session, file } = newSession();
  say(session, "one");
  rmSync(dirname(file), { recursive: true });
  writeFileSync(dirname(file), "a file in the place of the folder");
  say(session, "two");
  session.entries();
  expect(session.notices.map(({ message }) => message)).toEqual([
    expect.stringContaining("Restoring it failed"),
  ]);
  expect(session.path()).toHaveLength(2);
  session.close();
});
