import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { messageText } from "@bonsai-agent/messages";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import {
  createSession,
  diagnoseSession,
  openSession,
  type Session,
  type SessionStore,
} from "../src/index.ts";
import { appendingProcess } from "./child-session.ts";

function newFile(): string {
  return join(mkdtempSync(join(tmpdir(), "cut-off-")), "day.jsonl");
}

/** A session of seven entries that were read, opened, and seven more that are appended. */
function atWork(file = newFile()): { session: Session; file: string; said: string[] } {
  const earlier = createSession({ cwd: "/home/dev/shop", file });
  const said = Array.from({ length: 14 }, (_, at) => `said ${at}`);
  for (const text of said.slice(0, 7)) say(earlier, text);
  earlier.close();
  const session = openSession(file);
  for (const text of said.slice(7)) say(session, text);
  return { session, file, said };
}

function say(session: Session, text: string): void {
  session.append({ type: "message", message: { role: "user", content: text, timestamp: 0 } });
}

function lineOf(id: string, text: string): string {
  const message = { role: "user", content: text, timestamp: 0 };
  const place = { id, parentId: null, timestamp: "2026-01-01T00:00:00.000Z" };
  return `${JSON.stringify({ type: "message", ...place, message })}\n`;
}

function textsOf(file: string): string[] {
  const session = openSession(file);
  const texts = session
    .entries()
    .flatMap((entry) => (entry.type === "message" ? [messageText(entry.message)] : []));
  session.close();
  return texts;
}

function pathOf(file: string, leafId?: string | null): string[] {
  const session = openSession(file);
  const texts = session
    .path(leafId ?? session.leafId)
    .flatMap((entry) => (entry.type === "message" ? [messageText(entry.message)] : []));
  session.close();
  return texts;
}

const codes = (session: Session) => session.notices.map(({ code }) => code);
const sizeAfter = (file: string, lines: number) =>
  Buffer.byteLength(`${readFileSync(file, "utf8").split("\n").slice(0, lines).join("\n")}\n`);

const damages: [string, (file: string) => void][] = [
  ["in the middle of the file", (file) => truncateSync(file, sizeAfter(file, 8))],
  ["within its last line, by a brace", (file) => truncateSync(file, statSync(file).size - 2)],
  ["in the middle of a line", (file) => truncateSync(file, sizeAfter(file, 8) + 30)],
  ["to nothing", (file) => truncateSync(file, 0)],
  ["in the middle of the header", (file) => truncateSync(file, 20)],
  ["to zero bytes of the same number", (file) => writeFileSync(file, Buffer.alloc(statSync(file).size))],
];

test.each(damages)("a file cut off %s loses nothing of what goes on", (_name, damage) => {
  const { session, file, said } = atWork();
  damage(file);
  say(session, "and on");
  session.close();
  expect(session.file).toBe(file);
  expect(pathOf(file)).toEqual([...said, "and on"]);
  expect(textsOf(file)).toHaveLength(15);
  expect(codes(session)).toContain("entries_restored");
  const { message } = session.notices.find(({ code }) => code === "entries_restored")!;
  expect(message).toMatch(/day\.jsonl was cut off or overwritten while it was open\. \d+ entr/);
});

test.each(damages)(
  "a pause before an append hides no loss: a file cut off %s keeps its leaf",
  (_name, damage) => {
    const { session, file, said } = atWork();
    damage(file);
    const later = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 60_000);
    say(session, "and on");
    later.mockRestore();
    session.close();
    expect(pathOf(file)).toEqual([...said, "and on"]);
    expect(textsOf(file)).toHaveLength(15);
  },
);

test.each(damages)("a file cut off %s loses nothing where the session ends", (_name, damage) => {
  const { session, file, said } = atWork();
  damage(file);
  session.close();
  expect(pathOf(file)).toEqual(said);
  expect(textsOf(file)).toHaveLength(14);
});

describe("the leaf is moved right after a file was cut off", () => {
  const moves: [string, (session: Session, id: string) => void][] = [
    ["with a record", (session, id) => session.moveTo(id)],
    [
      "with an entry",
      (session, id) => session.append({ type: "label", targetId: id, label: "x" }, { under: id }),
    ],
  ];

  test.each(damages.flatMap(([where, damage]) => moves.map(([how, move]) => ({ where, damage, how, move }))))(
    "$where, $how: all of the path is there",
    ({ damage, move }) => {
      const { session, file, said } = atWork();
      const target = session.path()[12]!;
      damage(file);
      move(session, target.id);
      const texts = session
        .path()
        .flatMap((entry) => (entry.type === "message" ? [messageText(entry.message)] : []));
      expect(texts).toEqual(said.slice(0, 13));
      session.close();
      expect(pathOf(file)).toEqual(said.slice(0, 13));
      expect(textsOf(file).toSorted()).toEqual(said.toSorted());
    },
  );
});

test.each([
  ["less than was cut off", lineOf("f0f0f0f0", "foreign")],
  ["more than was cut off", lineOf("f0f0f0f0", `foreign ${"x".repeat(9_000)}`)],
])("what another process appended after that is kept, where it is %s", (_name, line) => {
  for (const lines of [0, 8]) {
    const { session, file, said } = atWork();
    truncateSync(file, lines === 0 ? 0 : sizeAfter(file, lines));
    appendFileSync(file, line);
    session.close();
    expect(pathOf(file)).toEqual(said);
    expect(textsOf(file).toSorted()).toEqual([...said, messageText(JSON.parse(line).message)].toSorted());
    expect(readFileSync(file, "utf8")).toContain(line);
  }
});

test("several writers of one file lose nothing, whoever sees the loss first", () => {
  const { session, file, said } = atWork();
  const other = openSession(file);
  say(other, "other 1");
  say(session, "own 1");
  truncateSync(file, sizeAfter(file, 3));
  say(other, "other 2");
  say(session, "own 2");
  const leafId = other.leafId;
  session.close();
  other.close();
  const texts = textsOf(file);
  expect(texts.toSorted()).toEqual([...said, "other 1", "other 2", "own 1", "own 2"].toSorted());
  expect(pathOf(file, leafId)).toEqual([...said, "other 1", "other 2"]);
});

test("another version of the session that is put in its place is gone on in", () => {
  const { session, file, said } = atWork();
  copyFileSync(file, `${file}.edited`);
  truncateSync(`${file}.edited`, sizeAfter(file, 8));
  appendFileSync(`${file}.edited`, lineOf("f0f0f0f0", "edited"));
  renameSync(`${file}.edited`, file);
  say(session, "and on");
  session.close();
  expect(session.file).toBe(file);
  expect(pathOf(file)).toEqual([...said, "and on"]);
  expect(textsOf(file)).toContain("edited");
  expect(codes(session)).toEqual(["file_deleted", "entries_restored"]);
});

test("a file that is kept under another name while a new one is written loses nothing of the new one", () => {
  const { session, file, said } = atWork();
  const text = readFileSync(file);
  renameSync(file, `${file}~`);
  writeFileSync(file, text);
  say(session, "and on");
  session.close();
  expect(pathOf(file)).toEqual([...said, "and on"]);
});

test("a file that is moved goes on where it is", () => {
  const { session, file, said } = atWork();
  renameSync(file, `${file}.moved`);
  say(session, "and on");
  session.close();
  expect(pathOf(`${file}.moved`)).toEqual([...said, "and on"]);
  expect(readdirSync(dirname(file))).toEqual(["day.jsonl.moved"]);
});

test.each<[string, (file: string) => void]>([
  ["another session", (file) => createSession({ cwd: "/elsewhere", file: `${file}.2` }).close()],
  ["text", (file) => writeFileSync(`${file}.2`, "somebody else's\n")],
])("%s that is put in its place, or written over it, stays as it is", (_name, make) => {
  for (const put of [renameSync, copyFileSync]) {
    const { session, file, said } = atWork();
    make(file);
    const text = readFileSync(`${file}.2`, "utf8");
    put(`${file}.2`, file);
    say(session, "and on");
    session.close();
    expect(session.file).toBe(join(dirname(file), "day.restored.jsonl"));
    expect(pathOf(session.file!)).toEqual([...said, "and on"]);
    if (put === renameSync) expect(readFileSync(file, "utf8")).toBe(text);
    else expect(readFileSync(file, "utf8").startsWith(text)).toBe(true);
  }
});

test("a folder in its place, and a file that is made read-only, stop nothing", () => {
  const { session, file, said } = atWork();
  rmSync(file);
  mkdirSync(file);
  say(session, "and on");
  chmodSync(session.file!, 0o400);
  say(session, "and further");
  session.close();
  expect(pathOf(session.file!)).toEqual([...said, "and on", "and further"]);
});

test("where it cannot be written again, a notice says so, and it is tried again", () => {
  const { session: closed, file, said } = atWork();
  closed.close();
  let isFull = false;
  const inner = openSession(file).store;
  const store: SessionStore = {
    get file() {
      return inner.file;
    },
    readOnly: undefined,
    size: () => inner.size(),
    read: (target, offset) => inner.read(target, offset),
    append(text) {
      if (isFull) throw new Error("ENOSPC: the disk is full");
      return inner.append(text);
    },
    flush: () => inner.flush(),
    close: () => inner.close(),
  };
  const session = openSession({ store });
  say(session, "kept");
  truncateSync(file, sizeAfter(file, 8));
  isFull = true;
  expect(() => say(session, "not stored")).toThrow("the disk is full");
  isFull = false;
  say(session, "and on");
  session.close();
  expect(pathOf(file)).toEqual([...said, "kept", "and on"]);
  expect(codes(session)).toEqual(["entries_lost", "entries_restored"]);
});

test("labels and the name are read anew from what is there", () => {
  const { session, file } = atWork();
  const id = session.leafId!;
  session.append({ type: "label", targetId: id, label: "here" });
  session.append({ type: "session_info", name: "day" });
  expect([session.label(id), session.name]).toEqual(["here", "day"]);
  truncateSync(file, 0);
  say(session, "and on");
  expect([session.label(id), session.name]).toEqual(["here", "day"]);
  expect(session.problems()).toEqual([]);
  session.close();
});

const step = fc.oneof(
  { weight: 6, arbitrary: fc.constant("say" as const) },
  { weight: 2, arbitrary: fc.constant("look" as const) },
  { weight: 1, arbitrary: fc.constant("foreign" as const) },
  { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
  // Some bytes of the last line: then its head is whole, and its end can look like one.
  { weight: 1, arbitrary: fc.double({ min: 0.998, max: 1, noNaN: true }) },
);

test("Invariant: whatever is cut off, what was acknowledged is there once, on its path", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { session, file, said } = atWork();
      const foreign = new Set<string>();
      for (const [at, what] of steps.entries()) {
        if (what === "say") said.push(`said ${at} more`);
        if (what === "say") say(session, said.at(-1)!);
        else if (what === "look") session.entries();
        else if (what === "foreign") appendFileSync(file, `\n${lineOf(`f${at}f`, `foreign ${at}`)}`);
        else truncateSync(file, Math.floor(what * statSync(file).size));
        if (what === "foreign") foreign.add(`foreign ${at}`);
      }
      const { leafId } = session;
      session.close();
      expect(session.file).toBe(file);
      expect(pathOf(file, leafId)).toEqual(said);
      const texts = textsOf(file).filter((text) => !foreign.has(text));
      expect(texts.toSorted()).toEqual(said.toSorted());
      rmSync(dirname(file), { recursive: true });
    }),
    {
      examples: [
        [[0.9991]],
        [["foreign", "say", 0.9992, "say", "say"]],
        [["say", 0.999, "look", "foreign", 0.9985]],
      ],
    },
  );
});

const both: [string, (file: string) => void][] = [...damages, ["away", (file) => rmSync(file)]];

test("two processes that find a file cut off at the same moment write each entry once", async () => {
  const whole = newFile();
  const session = createSession({ cwd: "/home/dev/shop", file: whole });
  const said = Array.from({ length: 500 }, (_, at) => `said ${at}`);
  for (const text of said) say(session, text);
  session.close();
  const files = both.map(() => newFile());
  for (const file of files) copyFileSync(whole, file);
  const processes = ["one", "other"].map((name) => appendingProcess(["restore", files.join("\n"), name]));
  for (const [at, [where, damage]] of both.entries()) {
    const file = files[at]!;
    await Promise.all(processes.map(({ reached }) => reached(2 * at + 1)));
    damage(file);
    writeFileSync(`${file}.go`, "");
    await Promise.all(processes.map(({ reached }) => reached(2 * at + 2)));
    for (const { acknowledged } of processes)
      expect(acknowledged.slice(2 * at, 2 * at + 2), where).toEqual(["ready", file]);
    const appended = ["one", "other"].flatMap((name) => [0, 1, 2, 3, 4].map((each) => `${name} ${each}`));
    expect(textsOf(file).toSorted(), where).toEqual([...said, ...appended].toSorted());
    // A line cut off in the middle stays in the file.
    const cut = ["torn_line", "damaged_line", "nul_bytes"];
    expect(
      diagnoseSession(file).filter(({ kind }) => !cut.includes(kind)),
      where,
    ).toEqual([]);
    expect(readdirSync(dirname(file)).toSorted(), where).toEqual(["day.jsonl", "day.jsonl.go"]);
  }
  await Promise.all(processes.map(({ ended }) => ended));
});

test("what a killed process left of its own restoring stops nobody", () => {
  const { session, file, said } = atWork();
  writeFileSync(`${file}.restoring`, `4194305 ${hostname()}`);
  truncateSync(file, sizeAfter(file, 8));
  session.close();
  expect(pathOf(file)).toEqual(said);
  expect(readdirSync(dirname(file))).toEqual(["day.jsonl"]);
});
