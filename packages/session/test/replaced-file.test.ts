import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test, vi } from "vitest";
import { createSession, openSession } from "../src/index.ts";
import { appendingProcess } from "./child-session.ts";
import {
  atWork,
  codes,
  lineOf,
  newFile,
  pathOf,
  removals,
  restored,
  say,
  sizeAfter,
  textsOf,
} from "./session-at-work.ts";

const foreignLines = [
  ["less than was cut off", lineOf("f0f0f0f0", "foreign")],
  ["more than was cut off", lineOf("f0f0f0f0", `foreign ${"x".repeat(9_000)}`)],
] as const;

test("entries that another process appends to the cut-off file stay there", () => {
  for (const [name, line] of foreignLines)
    for (const lines of [0, 8]) {
      const { session, file, said } = atWork();
      truncateSync(file, lines === 0 ? 0 : sizeAfter(file, lines));
      appendFileSync(file, line);
      session.close();
      expect.soft(pathOf(restored(file)), name).toEqual(said);
      expect.soft(textsOf(restored(file)).slice(-7), name).toEqual(said.slice(7));
      expect.soft(openSession(restored(file)).problems(), name).toEqual([]);
      expect.soft(readFileSync(file, "utf8"), name).toContain(line);
    }
});

test("several writers of one file go on in a copy each, with all their entries", () => {
  const { session, file, said } = atWork();
  const other = openSession(file);
  say(other, "other 1");
  say(session, "own 1");
  truncateSync(file, sizeAfter(file, 3));
  say(other, "other 2");
  say(session, "own 2");
  session.close();
  other.close();
  expect(pathOf(other.file!)).toEqual([...said, "other 1", "other 2"]);
  expect(pathOf(session.file!)).toEqual([...said, "own 1", "own 2"]);
  expect([other.file, session.file]).toEqual([restored(file), join(dirname(file), "day.restored2.jsonl")]);
});

const replacements: [string, (file: string) => void][] = [
  [
    "by a renamed version, as sed -i does",
    (file) => {
      writeFileSync(`${file}.edited`, readFileSync(file, "utf8").replace("said 3", "edited"));
      renameSync(`${file}.edited`, file);
    },
  ],
  [
    "in place by a longer version, as editors do",
    (file) => writeFileSync(file, readFileSync(file, "utf8").replace("said 3", "an edited text")),
  ],
  [
    "by a new version beside a backup",
    (file) => {
      const text = readFileSync(file, "utf8").replace("said 3", "edited");
      renameSync(file, `${file}~`);
      writeFileSync(file, text);
    },
  ],
];

test("a replaced session file stays as it is; the session goes on in a copy", () => {
  for (const [name, replace] of replacements) {
    const { session, file, said } = atWork();
    replace(file);
    const edited = readFileSync(file, "utf8");
    const later = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 60_000);
    say(session, "and on");
    later.mockRestore();
    session.close();
    expect.soft(readFileSync(file, "utf8"), name).toBe(edited);
    expect.soft(session.file, name).toBe(restored(file));
    expect.soft(pathOf(session.file!).slice(7), name).toEqual([...said.slice(7), "and on"]);
    expect.soft(textsOf(session.file!), name).toHaveLength(15);
  }
});

test("a file that is moved goes on where it is", () => {
  const { session, file, said } = atWork();
  renameSync(file, `${file}.moved`);
  say(session, "and on");
  session.close();
  expect(pathOf(`${file}.moved`)).toEqual([...said, "and on"]);
  expect(readdirSync(dirname(file))).toEqual(["day.jsonl.moved"]);
});

const otherFiles: [string, (file: string) => void][] = [
  ["another session", (file) => createSession({ cwd: "/elsewhere", file: `${file}.2` }).close()],
  [
    "a longer session",
    (file) => {
      const other = createSession({ cwd: "/elsewhere", file: `${file}.2` });
      for (let at = 0; at < 40; at += 1) say(other, `other ${at}`);
      other.close();
    },
  ],
  ["text", (file) => writeFileSync(`${file}.2`, "somebody else's\n")],
];

test("another file instead of the session's does not get into the copy", () => {
  for (const [name, make] of otherFiles)
    for (const put of [renameSync, copyFileSync]) {
      const { session, file, said } = atWork();
      make(file);
      const text = readFileSync(`${file}.2`, "utf8");
      put(`${file}.2`, file);
      say(session, "and on");
      session.close();
      expect.soft(session.file, name).toBe(restored(file));
      expect.soft(textsOf(session.file!), name).toEqual([...said, "and on"]);
      expect.soft(readFileSync(file, "utf8").startsWith(text), name).toBe(true);
    }
});

test("a folder that replaces the file stops nothing", () => {
  const { session, file, said } = atWork();
  rmSync(file);
  mkdirSync(file);
  say(session, "and on");
  session.close();
  expect(pathOf(session.file!)).toEqual([...said, "and on"]);
});

test("an append fails if no copy can be written, and succeeds once one can", () => {
  const { session, file, said } = atWork();
  rmSync(dirname(file), { recursive: true });
  writeFileSync(dirname(file), "a file instead of the folder");
  const later = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 60_000);
  const refused = expect.objectContaining({ code: "session_not_created" });
  expect(() => say(session, "not stored")).toThrow(refused);
  expect(() => say(session, "not stored either")).toThrow(refused);
  expect(session.path()).toHaveLength(14);
  session.entries();
  expect(codes(session)).toEqual(["entries_lost"]);
  rmSync(dirname(file));
  say(session, "and on");
  later.mockRestore();
  session.close();
  expect(textsOf(session.file!)).toEqual([...said, "and on"]);
  expect(codes(session)).toEqual(["entries_lost", "restored_copy"]);
});

test("two processes that find a file cut off at the same moment go on in a copy each", async () => {
  const whole = newFile();
  const session = createSession({ cwd: "/home/dev/shop", file: whole });
  const said = Array.from({ length: 500 }, (_, at) => `said ${at}`);
  for (const text of said) say(session, text);
  session.close();
  const files = removals.map(() => newFile());
  for (const file of files) copyFileSync(whole, file);
  const names = ["one", "other"];
  const processes = names.map((name) => appendingProcess(["restore", files.join("\n"), name]));
  try {
    for (const [at, [where, damage]] of removals.entries()) {
      const file = files[at]!;
      await Promise.all(processes.map(({ reached }) => reached(2 * at + 1)));
      damage(file);
      writeFileSync(`${file}.go`, "");
      await Promise.all(processes.map(({ reached }) => reached(2 * at + 2)));
      const copies = processes.map(({ acknowledged }) => acknowledged[2 * at + 1]!);
      // A process that has lost nothing itself stays in the file.
      expect(new Set(copies).size, where).toBe(2);
      for (const [of, copy] of copies.entries()) {
        const appended = [0, 1, 2, 3, 4].map((each) => `${names[of]} ${each}`);
        expect(textsOf(copy), where).toEqual(expect.arrayContaining([...said, ...appended]));
      }
    }
  } finally {
    await Promise.all(processes.map(({ kill }) => kill()));
  }
});
