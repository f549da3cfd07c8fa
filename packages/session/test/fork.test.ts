import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  cloneSession,
  createSession,
  forkSession,
  JsonlStore,
  openSession,
  type Session,
} from "@bonsai-agent/session";
import {
  type DamageName,
  damagedSessions,
  damageFindings,
  generateSession,
  history,
  treeArbitrary,
} from "@bonsai-agent/testkit";
import fc from "fast-check";
import { afterAll, describe, expect, onTestFinished, test, vi } from "vitest";

const root = mkdtempSync(join(tmpdir(), "bonsai-fork-"));
afterAll(() => rmSync(root, { recursive: true }));

let files = 0;
const newFile = () => join(root, `${files++}.jsonl`);
const newSession = () => createSession({ cwd: "/p", file: newFile() });

function lines(file: string): string[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "");
}

function labels(session: Session): Record<string, string | undefined> {
  const found: Record<string, string | undefined> = {};
  for (const entry of session.entries()) if (entry.type === "label") found[entry.targetId] = entry.label;
  return found;
}

function user(text: string) {
  return { type: "message" as const, message: { role: "user" as const, content: text, timestamp: 0 } };
}

test("law: at every entry of a random tree, the fork's projection is the origin's there", () => {
  fc.assert(
    fc.property(treeArbitrary({ maxSteps: 10 }), (notation) => {
      const { session } = history(notation, newSession());
      for (const { id } of [...session.entries()]) {
        const fork = openSession(forkSession(session, { at: id, file: newFile() }));
        expect(fork.projection().items).toEqual(session.projection(id).items);
      }
    }),
  );
});

test("law: a clone has every line of its origin", () => {
  fc.assert(
    fc.property(treeArbitrary(), (notation) => {
      const { session } = history(notation, newSession());
      const clone = cloneSession(session, { file: newFile() });
      expect(lines(clone).slice(1)).toEqual(lines(session.file!).slice(1));
      expect(openSession(clone).leafId).toBe(openSession(session.file!).leafId);
    }),
  );
});

describe("a fork contains", () => {
  test("a header of its own that names the origin, in a private file", () => {
    const session = newSession();
    session.append(user("hello"));
    const file = forkSession(session, {
      file: newFile(),
      id: "fork-1",
      now: new Date("2026-01-05T10:00:00Z"),
    });
    expect(JSON.parse(lines(file)[0]!)).toEqual({
      type: "session",
      version: 3,
      id: "fork-1",
      timestamp: "2026-01-05T10:00:00.000Z",
      cwd: "/p",
      parentSession: session.file,
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("entries with their ids and the bytes of their lines", () => {
    const session = newSession();
    session.append([user("one"), user("two")]);
    const odd =
      '{"parentId":null,"id":"odd00001", "type":"message","timestamp":"2026-01-05T09:00:00.000Z","future":{"kept":1e2},"message":{"role":"user","content":"h\\u00e9","timestamp":0}}';
    const file = newFile();
    writeFileSync(file, `${lines(session.file!)[0]}\n${odd}\n`);
    expect(lines(forkSession(openSession(file), { file: newFile() }))[1]).toBe(odd);
  });

  test("labels set from another branch, and the latest name; the leaf stays", () => {
    const { session, id } = history("U A U", newSession());
    session.append({ type: "label", targetId: id("u2"), label: "old" });
    session.moveTo(id("a1"));
    session.append([
      { type: "label", targetId: id("u1"), label: "start" },
      { type: "label", targetId: id("u2"), label: "new" },
      { type: "session_info", name: "Renamed" },
    ]);
    const fork = openSession(forkSession(session, { at: id("u2"), file: newFile() }));
    expect(labels(fork)).toEqual({ [id("u1")]: "start", [id("u2")]: "new" });
    expect([...fork.entries()].filter(({ type }) => type === "session_info")).toMatchObject([
      { name: "Renamed" },
    ]);
    expect(fork.leafId).toBe(id("u2"));
    expect(fork.projection().items).toEqual(session.projection(id("u2")).items);
  });

  test("no label of an entry that stays behind, and none that was cleared", () => {
    const { session, id } = history("U A U A", newSession());
    session.append([
      { type: "label", targetId: id("u2"), label: "behind" },
      { type: "label", targetId: id("u1"), label: "gone" },
      { type: "label", targetId: id("u1") },
    ]);
    expect(labels(openSession(forkSession(session, { at: id("a1"), file: newFile() })))).toEqual({});
  });

  test("the path around labels in its middle", () => {
    const { session, id } = history("U A l U l A(t1) l T1 l A", newSession());
    const fork = openSession(forkSession(session, { file: newFile() }));
    expect(fork.projection().items).toHaveLength(6);
    expect(fork.path().at(-1)?.id).toBe(id("a3"));
  });

  test("nothing at all before the first entry", () => {
    const { session } = history("U A", newSession());
    expect(openSession(forkSession(session, { at: null, file: newFile() })).projection().items).toEqual([]);
  });

  test("a session in memory", () => {
    const { session } = history("U A");
    const fork = openSession(forkSession(session, { file: newFile() }));
    expect(fork.projection().items).toEqual(session.projection().items);
    expect(fork.header).not.toHaveProperty("parentSession");
  });

  test("a file of its own name in the folder of its working directory", () => {
    const { session } = history("U", newSession());
    const file = forkSession(session, { home: join(root, "home"), id: "f", now: new Date(0) });
    expect(file).toBe(join(root, "home", "sessions", "-p", "1970-01-01T00-00-00-000Z_f.jsonl"));
    const beside = forkSession(session, { folder: join(root, "beside"), id: "f", now: new Date(0) });
    expect(beside).toBe(join(root, "beside", "1970-01-01T00-00-00-000Z_f.jsonl"));
  });
});

describe("old origins", () => {
  const stamp = { timestamp: "2026-01-05T09:00:00.000Z" };
  const say = (text: string) => ({
    type: "message",
    ...stamp,
    message: { role: "user", content: text, timestamp: 0 },
  });
  const hook = {
    type: "message",
    ...stamp,
    message: { role: "hookMessage", customType: "t", content: "hi", display: true, timestamp: 0 },
  };
  const header = { type: "session", id: "old", ...stamp, cwd: "/p" };
  const versionOne = [
    header,
    say("one"),
    say("two"),
    say("three"),
    { type: "compaction", ...stamp, summary: "So far.", firstKeptEntryIndex: 2, tokensBefore: 9 },
    say("four"),
  ];
  const versionTwo = [
    { ...header, version: 2 },
    { ...say("one"), id: "a1", parentId: null },
    { ...hook, id: "a2", parentId: "a1" },
  ];

  test.each([
    ["version 1", versionOne],
    ["version 2", versionTwo],
  ])("%s becomes a version 3 file with the same projection", (_, entries) => {
    const file = newFile();
    writeFileSync(file, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
    const before = readFileSync(file);
    const session = openSession(file);
    const fork = openSession(forkSession(session, { file: newFile() }));
    expect(fork.header.version).toBe(3);
    expect(fork.projection().items).toEqual(session.projection().items);
    expect(lines(fork.file!).join("")).not.toMatch(/firstKeptEntryIndex|hookMessage/);
    expect(readFileSync(file)).toEqual(before);
  });
});

test("a fork and a clone of a damaged file show the model the same, without broken lines and links", () => {
  for (const [name, bytes] of Object.entries(damagedSessions()).filter(([name]) =>
    Array.isArray(damageFindings[name as DamageName]),
  )) {
    const file = newFile();
    writeFileSync(file, bytes);
    const session = openSession(file);
    for (const copy of [
      forkSession(session, { file: newFile() }),
      cloneSession(session, { file: newFile() }),
    ]) {
      const kinds = openSession(copy)
        .problems()
        .map(({ kind }) => kind);
      expect
        .soft(
          kinds.filter((kind) => /line|missing_(?:parent|id)|cycle/.test(kind)),
          name,
        )
        .toEqual([]);
      expect
        .soft(
          openSession(copy)
            .projection()
            .items.map(({ message }) => message),
          name,
        )
        .toEqual(session.projection().items.map(({ message }) => message));
    }
  }
});

test("a fork closes the file of its origin", () => {
  const session = newSession();
  session.append(user("hello"));
  const close = vi.spyOn(JsonlStore.prototype, "close");
  onTestFinished(() => close.mockRestore());
  forkSession(session, { file: newFile() });
  expect(close).toHaveBeenCalledTimes(1);
});

describe("errors", () => {
  test("an unknown entry is refused and nothing is written", () => {
    const { session } = history("U", newSession());
    const file = newFile();
    expect(() => forkSession(session, { at: "nope", file })).toThrow(
      expect.objectContaining({ code: "entry_not_found" }),
    );
    expect(() => statSync(file)).toThrow("ENOENT");
  });

  test("a file is never overwritten", () => {
    const { session } = history("U", newSession());
    const file = newFile();
    writeFileSync(file, "precious");
    expect(() => forkSession(session, { file })).toThrow(expect.objectContaining({ code: "session_exists" }));
    expect(readFileSync(file, "utf8")).toBe("precious");
  });

  test("a disk that fails in the middle leaves no half file", () => {
    const origin = generateSession({ file: newFile(), entries: 300 });
    const folder = join(root, "full");
    mkdirSync(folder);
    const child = fileURLToPath(new URL("./fixtures/fork-child.ts", import.meta.url));
    const command = `ulimit -f 64; exec "${process.execPath}" --conditions=@bonsai-agent/source "${child}" "${origin.file}" "${folder}"`;
    const run = spawnSync("bash", ["-c", command], { encoding: "utf8" });
    expect(run.stdout.trim()).toBe("session_not_created");
    expect(readdirSync(folder)).toEqual([]);
  });
});
