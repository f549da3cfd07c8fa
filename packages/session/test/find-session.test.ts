import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bonsaiHome, findSession, newSessionFile, sessionFolder } from "@bonsai-agent/session";
import { generateSession } from "@bonsai-agent/testkit";
import { afterAll, describe, expect, test } from "vitest";

const root = mkdtempSync(join(tmpdir(), "bonsai-list-"));

afterAll(() => rmSync(root, { recursive: true }));

let folders = 0;

function newFolder(): string {
  const folder = join(root, `${folders++}`);
  mkdirSync(folder);
  return folder;
}

describe("home", () => {
  test("BONSAI_HOME moves it, an empty value does not", () => {
    expect(bonsaiHome({ BONSAI_HOME: "/elsewhere" })).toBe("/elsewhere");
    expect(bonsaiHome({ BONSAI_HOME: "" })).toMatch(/\.bonsai$/);
  });

  test("a working directory becomes one folder name", () => {
    expect(sessionFolder({ cwd: "/home/dev/my shop", home: "/h" })).toBe("/h/sessions/-home-dev-my shop");
  });

  test("a new session's file is named by time and id, in a private folder", () => {
    const home = newFolder();
    const file = newSessionFile({ cwd: "/p", home, id: "abc", now: new Date("2026-01-05T09:00:00.123Z") });
    expect(file).toBe(join(home, "sessions", "-p", "2026-01-05T09-00-00-123Z_abc.jsonl"));
    const mode = execFileSync("stat", ["-c", "%a", join(home, "sessions", "-p")], { encoding: "utf8" });
    expect(mode.trim()).toBe("700");
  });
});

describe("finding a session", () => {
  const home = newFolder();
  const made = new Map<string, string>();
  for (const [id, cwd] of [
    ["abc-1", "/p"],
    ["abc-2", "/p"],
    ["abd", "/q"],
    ["ab", "/q"],
    ["xx-1", "/p"],
    ["xx-2", "/q"],
  ] as const) {
    const file = newSessionFile({ home, id, cwd, now: new Date(0) });
    made.set(id, file);
    generateSession({ file, entries: 3, id, cwd });
  }
  const renamed = join(sessionFolder({ home, cwd: "/q" }), "my-favourite.jsonl");
  generateSession({ file: renamed, entries: 3, id: "zzz" });

  test("by id, by a unique beginning, by path, by the id of a renamed file", () => {
    expect(findSession({ home, session: "abc-1" })).toBe(made.get("abc-1"));
    expect(findSession({ home, session: "abd" })).toBe(made.get("abd"));
    expect(findSession({ home, session: "ab" })).toBe(made.get("ab"));
    expect(findSession({ home, session: made.get("abd")! })).toBe(made.get("abd"));
    expect(findSession({ home, session: "zz" })).toBe(renamed);
  });

  test("by id, the latest restored copy instead of its damaged original", () => {
    const file = newSessionFile({ home, id: "lost", cwd: "/q", now: new Date(0) });
    const copies = [1, 2, 10].map((number) => {
      const copy = file.replace(/\.jsonl$/, `.restored${number === 1 ? "" : number}.jsonl`);
      generateSession({ file: copy, entries: 3, id: "lost", cwd: "/q" });
      utimesSync(copy, number, number);
      return copy;
    });
    generateSession({ file, entries: 3, id: "lost", cwd: "/q" });
    expect(findSession({ home, session: "lost" })).toBe(copies[2]);
    expect(findSession({ home, session: "lo", cwd: "/q" })).toBe(copies[2]);
    expect(findSession({ home, session: file })).toBe(file);
  });

  test("by id, the readable original instead of its damaged copy", () => {
    const folder = newFolder();
    const file = join(folder, "2026-01-01T00-00-00-000Z_day.jsonl");
    generateSession({ file, entries: 3, id: "day" });
    writeFileSync(file.replace(".jsonl", ".restored.jsonl"), "");
    expect(findSession({ folder, session: "day" })).toBe(file);
  });

  test("the own working directory goes first", () => {
    expect(findSession({ home, session: "abd", cwd: "/p" })).toBe(made.get("abd"));
    expect(findSession({ home, session: "xx", cwd: "/q" })).toBe(made.get("xx-2"));
  });

  const unknown = [
    ["abc", "session_ambiguous", /abc-1.*abc-2/],
    ["nope", "session_not_found", /"nope"/],
    ["", "session_not_found", /""/],
    ["/nowhere/x.jsonl", "session_not_found", /nowhere/],
  ] as const;
  test("an unknown or ambiguous session is refused", () => {
    for (const [session, code, message] of unknown)
      expect
        .soft(() => findSession({ home, session }), session)
        .toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }));
  });

  test("an unreadable file has no id, and is no obstacle", () => {
    chmodSync(renamed, 0o000);
    try {
      expect(findSession({ home, session: "abd" })).toBe(made.get("abd"));
    } finally {
      chmodSync(renamed, 0o600);
    }
  });
});
