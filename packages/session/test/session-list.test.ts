import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { listSessions, newSessionFile } from "@bonsai-agent/session";
import { damagedSessions, generateSession } from "@bonsai-agent/testkit";
import { afterAll, describe, expect, test } from "vitest";

const root = mkdtempSync(join(tmpdir(), "bonsai-list-"));

afterAll(() => rmSync(root, { recursive: true }));

let folders = 0;

function newFolder(): string {
  const folder = join(root, `${folders++}`);
  mkdirSync(folder);
  return folder;
}

const header = { type: "session", version: 3, id: "s1", timestamp: "2026-01-05T09:00:00.000Z", cwd: "/p" };

const said = (text: unknown, timestamp = "2026-01-05T09:01:00.000Z") => ({
  type: "message",
  id: "e",
  parentId: null,
  timestamp,
  message: { role: "user", content: text },
});

const named = (name?: string) => ({
  type: "session_info",
  id: "n",
  parentId: null,
  timestamp: header.timestamp,
  name,
});

/** Lists one file of these lines: objects as JSON, strings as they are. */
function listed(lines: ReadonlyArray<object | string>, join_ = "\n") {
  const folder = newFolder();
  const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join(join_);
  writeFileSync(join(folder, "s.jsonl"), text + join_);
  return listSessions({ folder }).sessions[0];
}

describe("the row of a session has", () => {
  const rowsOf: [string, Array<object | string>, object][] = [
    ["first words on one line", [header, said(" Fix\n the  bug ")], { firstWords: "Fix the bug" }],
    [
      "files by name, without what they hold",
      [header, said('See @a.ts\n\n<file path="a.ts">\nlet all;\n</file>')],
      { firstWords: "See @a.ts" },
    ],
    ["text blocks", [header, said([{ type: "text", text: "Hello" }])], { firstWords: "Hello" }],
    ["the first user message with text", [header, said(null), said("then")], { firstWords: "then" }],
    [
      "long texts cut on whole characters",
      [header, said("😀".repeat(300))],
      { firstWords: "😀".repeat(120) },
    ],
    ["the latest of several names", [header, named("a"), said("x"), named("b"), said("y")], { name: "b" }],
    [
      "a name with type not first",
      [header, { id: "n", parentId: null, name: "late", type: "session_info" }],
      { name: "late" },
    ],
    [
      "a name with spaces in its JSON",
      [header, '{ "type" : "session_info", "name": "spaced" }'],
      { name: "spaced" },
    ],
    ["a name after a blank line", [header, "", named("b")], { name: "b", lines: 1 }],
    ["a version 1 file", [{ ...header, version: undefined }, said("x")], { version: 1 }],
    ["a future version", [{ ...header, version: 9 }, said("x")], { version: 9 }],
    [
      "the last line's time",
      [header, said("x", "2026-02-01T00:00:00.000Z")],
      { lastActivityMs: Date.UTC(2026, 1, 1) },
    ],
    ["a damaged line among others", [header, said("x"), "#garbage#", named("b")], { name: "b", lines: 3 }],
  ];
  test("first words, name, time and version", () => {
    for (const [name, lines, expected] of rowsOf) {
      expect.soft(listed(lines), name).toMatchObject(expected);
      expect.soft(listed(lines, "\r\n"), name).toMatchObject(expected);
    }
  });

  test("a cleared name is no name, and a text that speaks of session_info is none either", () => {
    expect(listed([header, named("a"), named()])).not.toHaveProperty("name");
    expect(listed([header, said('{"type":"session_info","name":"trap"}')])).not.toHaveProperty("name");
  });

  const digest = {
    summary: "Did it.",
    fileCount: 2,
    added: 5,
    removed: 3,
    files: [{ path: "a.ts", added: 5, removed: 3 }],
  };
  const digested = (data: unknown, customType = "bonsai.session_digest") => ({
    type: "custom",
    id: "d",
    parentId: null,
    timestamp: header.timestamp,
    customType,
    data,
  });

  const digests: [string, Array<object | string>, object | undefined][] = [
    ["none in a session without one", [header, said("x")], undefined],
    ["the latest", [header, digested({ ...digest, added: 1 }), digested(digest), said("x")], digest],
    ["not another program's data", [header, digested(digest, "other.session_digest")], undefined],
    ["nor a text that speaks of it", [header, said(JSON.stringify(digested(digest)))], undefined],
    ["nor one without its counts", [header, digested({ summary: "Did it." })], undefined],
    ["nor no data at all", [header, digested(undefined), digested(null)], undefined],
    ["nor one with counts that cannot be", [header, digested({ ...digest, added: -1 })], undefined],
    [
      "what is sound in a damaged one",
      [header, digested({ ...digest, summary: 7, files: [...digest.files, null, { path: 1 }] })],
      { ...digest, summary: "" },
    ],
    ["one that was cut off is none", [header, JSON.stringify(digested(digest)).slice(0, -9)], undefined],
  ];
  test("the latest sound digest", () => {
    for (const [name, lines, expected] of digests) {
      expect.soft(listed(lines)?.digest, name).toEqual(expected);
      expect.soft("digest" in listed(lines)!, name).toBe(expected !== undefined);
    }
  });

  test("a torn last line leaves the file's own time", () => {
    const folder = newFolder();
    const file = join(folder, "s.jsonl");
    writeFileSync(file, `${JSON.stringify(header)}\n{"type":"mess`);
    utimesSync(file, 1_767_700_000, 1_767_700_000);
    expect(listSessions({ folder }).sessions[0]?.lastActivityMs).toBe(1_767_700_000_000);
  });

  test("a name deep inside a file of many buffers, beside a line larger than the buffer", () => {
    expect(
      listed([
        header,
        said("first"),
        said("x".repeat(3_000_000)),
        named("deep"),
        ...Array(40).fill(said("y".repeat(99_999))),
      ]),
    ).toMatchObject({ name: "deep", firstWords: "first", lines: 43 });
  });
});

describe("listing a folder", () => {
  test("every damaged file is listed or skipped with a reason, and none stops the list", () => {
    const folder = newFolder();
    for (const [name, bytes] of Object.entries(damagedSessions()))
      writeFileSync(join(folder, `${name}.jsonl`), bytes);
    const { sessions, skipped } = listSessions({ folder });
    expect(
      Object.fromEntries(skipped.map(({ file, reason }) => [file.slice(folder.length + 1, -6), reason])),
    ).toEqual({
      empty: "empty",
      "no session at all": "not a session",
      "binary file": "not a session",
      "entries without header": "not a session",
      "damaged header": "not a session",
    });
    expect(sessions.length + skipped.length).toBe(Object.keys(damagedSessions()).length);
  });

  test("the latest activity comes first; other files, folders, pipes and dead links are no sessions", () => {
    const folder = newFolder();
    for (const [name, entries] of [
      ["old", 20],
      ["new", 60],
      ["mid", 40],
    ] as const) {
      generateSession({ file: join(folder, `${name}.jsonl`), entries, id: name });
    }
    writeFileSync(join(folder, "notes.txt"), "");
    mkdirSync(join(folder, "folder.jsonl"));
    execFileSync("mkfifo", [join(folder, "pipe.jsonl")]);
    symlinkSync("/nowhere", join(folder, "dead.jsonl"));
    const { sessions, skipped } = listSessions({ folder });
    expect(sessions.map(({ id }) => id)).toEqual(["new", "mid", "old"]);
    expect(skipped).toMatchObject([{ file: join(folder, "dead.jsonl"), reason: "unreadable" }]);
  });

  test("a restored copy replaces its original, whether that is readable, empty or another session", () => {
    const folder = newFolder();
    for (const id of ["readable", "emptied", "other"]) {
      generateSession({ file: join(folder, `${id}.jsonl`), entries: 3, id });
      generateSession({ file: join(folder, `${id}.restored.jsonl`), entries: 5, id });
    }
    writeFileSync(join(folder, "emptied.jsonl"), "");
    generateSession({ file: join(folder, "other.jsonl"), entries: 3, id: "replacement" });
    const { sessions, skipped } = listSessions({ folder });
    expect(sessions.map(({ file }) => file.slice(folder.length + 1)).sort()).toEqual([
      "emptied.restored.jsonl",
      "other.jsonl",
      "other.restored.jsonl",
      "readable.restored.jsonl",
    ]);
    expect(skipped).toEqual([]);
  });

  test("a damaged original is skipped with its damaged copies, and a readable one is listed beside them", () => {
    const folder = newFolder();
    generateSession({ file: join(folder, "readable.jsonl"), entries: 3, id: "readable" });
    for (const name of ["readable.restored", "lost", "lost.restored"])
      writeFileSync(join(folder, `${name}.jsonl`), "");
    const { sessions, skipped } = listSessions({ folder });
    expect(sessions.map(({ id }) => id)).toEqual(["readable"]);
    expect(skipped.map(({ file }) => file.slice(folder.length + 1)).sort()).toEqual([
      "lost.jsonl",
      "lost.restored.jsonl",
      "readable.restored.jsonl",
    ]);
  });

  test("a missing folder is an empty list", () => {
    expect(listSessions({ home: join(root, "nowhere") })).toEqual({ sessions: [], skipped: [] });
  });

  test("all working directories, or one, even where two share a folder", () => {
    const home = newFolder();
    for (const [id, cwd] of [
      ["1", "/a/b-c"],
      ["2", "/a-b/c"],
      ["3", "/other"],
    ] as const) {
      generateSession({ file: newSessionFile({ home, id, cwd, now: new Date(0) }), entries: 5, id, cwd });
    }
    const ids = (cwd?: string) =>
      listSessions({ home, ...(cwd === undefined ? {} : { cwd }) }).sessions.map(({ id }) => id);
    expect(ids().sort()).toEqual(["1", "2", "3"]);
    expect(ids("/a/b-c")).toEqual(["1"]);
    expect(ids("/a-b/c")).toEqual(["2"]);
  });
});
