import {
  appendFileSync,
  copyFileSync,
  existsSync,
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
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { messageText } from "@bonsai-agent/messages";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { createSession, openSession, type Session } from "../src/index.ts";
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

const restored = (file: string) => join(dirname(file), "day.restored.jsonl");

test("a session whose file is cut off goes on in a copy, with all entries", () => {
  for (const [name, damage] of damages) {
    const { session, file, said } = atWork();
    damage(file);
    say(session, "and on");
    say(session, "and further");
    session.close();
    expect.soft(session.file, name).toBe(restored(file));
    expect.soft(pathOf(session.file!), name).toEqual([...said, "and on", "and further"]);
    expect.soft(textsOf(session.file!), name).toHaveLength(16);
    expect.soft(openSession(session.file!).problems(), name).toEqual([]);
    expect.soft(statSync(session.file!).mode & 0o777, name).toBe(0o600);
    expect.soft(session.notices, name).toEqual([
      {
        code: "restored_copy",
        message: `Another program cut off, replaced or deleted ${file} while it was open. The session continues in ${session.file}.`,
      },
    ]);
  }
});

const removals: typeof damages = [...damages, ["away", (file) => rmSync(file)]];
test("after a pause, nothing is written to a cut-off file", () => {
  for (const [name, damage] of removals) {
    const { session, file, said } = atWork();
    damage(file);
    const before = existsSync(file) ? readFileSync(file) : undefined;
    const later = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 60_000);
    say(session, "and on");
    later.mockRestore();
    session.close();
    expect.soft(existsSync(file) ? readFileSync(file) : undefined, name).toEqual(before);
    expect.soft(pathOf(restored(file)), name).toEqual([...said, "and on"]);
    expect.soft(textsOf(restored(file)), name).toHaveLength(15);
    expect.soft(openSession(restored(file)).problems(), name).toEqual([]);
  }
});

const losses: typeof damages = [
  ...removals,
  [
    "and gets another session",
    (file) => {
      const other = createSession({ cwd: "/elsewhere", file: `${file}.2` });
      for (let at = 0; at < 40; at += 1) say(other, `other ${at}`);
      other.close();
      copyFileSync(`${file}.2`, file);
    },
  ],
];

describe("a session whose file is cut off between opening and the first append", () => {
  test("goes on in a copy with the entries that the file still has", () => {
    for (const [name, damage] of losses) {
      const { session: earlier, file, said } = atWork();
      earlier.close();
      const session = openSession(file);
      damage(file);
      const before = existsSync(file) ? readFileSync(file) : undefined;
      say(session, "and on");
      say(session, "and further");
      session.close();
      expect.soft(existsSync(file) ? readFileSync(file) : undefined, name).toEqual(before);
      expect.soft(session.file, name).toBe(restored(file));
      const texts = pathOf(session.file!);
      expect.soft(texts.slice(-2), name).toEqual(["and on", "and further"]);
      expect.soft(texts.slice(0, -2), name).toEqual(said.slice(0, texts.length - 2));
      expect.soft(textsOf(session.file!), name).toEqual(texts);
      expect.soft(openSession(session.file!).problems(), name).toEqual([]);
      expect.soft(codes(session), name).toEqual(["restored_copy"]);
    }
  });

  test("goes on below the last entry of the copy if the append names the lost leaf", () => {
    const { session: earlier, file, said } = atWork();
    earlier.close();
    const session = openSession(file);
    truncateSync(file, sizeAfter(file, 8));
    const label = { type: "label", targetId: session.leafId!, label: "x" } as const;
    session.append(label, { under: session.leafId });
    session.close();
    expect(pathOf(session.file!)).toEqual(said.slice(0, 7));
  });

  test("is moved in a copy without damage", () => {
    const { session: earlier, file, said } = atWork();
    const target = earlier.path()[2]!;
    earlier.close();
    const session = openSession(file);
    truncateSync(file, sizeAfter(file, 8));
    session.moveTo(target.id);
    session.close();
    expect(pathOf(session.file!)).toEqual(said.slice(0, 3));
    expect(openSession(session.file!).problems()).toEqual([]);
  });
});

test("closing a session whose file is cut off writes the copy", () => {
  for (const [name, damage] of damages) {
    const { session, file, said } = atWork();
    damage(file);
    session.close();
    expect.soft(pathOf(restored(file)), name).toEqual(said);
    expect.soft(textsOf(restored(file)), name).toHaveLength(14);
  }
});

test("a session with a deleted file goes on in a copy with all branches, also those not in memory", () => {
  const { session, file, said } = atWork();
  session.moveTo(session.path()[2]!.id);
  say(session, "another branch");
  session.close();
  const again = openSession(file);
  say(again, "more");
  rmSync(file);
  say(again, "and on");
  again.close();
  expect(pathOf(again.file!)).toEqual([...said.slice(0, 3), "another branch", "more", "and on"]);
  expect(textsOf(again.file!)).toEqual([...said, "another branch", "more", "and on"]);
});

test("a second loss makes a second copy", () => {
  const { session, file, said } = atWork();
  rmSync(file);
  session.entries();
  say(session, "and on");
  truncateSync(session.file!, 0);
  say(session, "and further");
  session.close();
  expect(session.file).toBe(join(dirname(file), "day.restored2.jsonl"));
  expect(pathOf(session.file!)).toEqual([...said, "and on", "and further"]);
});

test("more appended text than memory keeps separately is restored from the path", () => {
  const { session, file, said } = atWork();
  const long = "x".repeat(9 << 20);
  for (let at = 0; at < 2; at += 1) say(session, `${at} ${long}`);
  truncateSync(file, 0);
  session.close();
  expect(pathOf(restored(file)).map((text) => text.slice(0, 7))).toEqual([
    ...said.map((text) => text.slice(0, 7)),
    ..."01".split("").map((at) => `${at} xxxxx`),
  ]);
});

describe("a leaf that is moved right after the file was cut off", () => {
  const moves: [string, (session: Session, id: string) => void][] = [
    ["with a record", (session, id) => session.moveTo(id)],
    [
      "with an entry",
      (session, id) => session.append({ type: "label", targetId: id, label: "x" }, { under: id }),
    ],
  ];

  test("the copy has the whole path", () => {
    for (const [where, damage] of damages) {
      for (const [how, move] of moves) {
        const name = `${where}, ${how}`;
        const { session, file, said } = atWork();
        const target = session.path()[12]!;
        damage(file);
        move(session, target.id);
        const texts = session
          .path()
          .flatMap((entry) => (entry.type === "message" ? [messageText(entry.message)] : []));
        expect.soft(texts, name).toEqual(said.slice(0, 13));
        session.close();
        expect.soft(pathOf(session.file!), name).toEqual(said.slice(0, 13));
        expect.soft(textsOf(session.file!).toSorted(), name).toEqual(said.toSorted());
      }
    }
  });
});

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

test("labels and the name are read from the copy", () => {
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

test("Invariant: whatever is cut off, each acknowledged entry is there once, on its path", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { session, file, said } = atWork();
      const foreign = new Set<string>();
      for (const [at, what] of steps.entries()) {
        if (what === "say") said.push(`said ${at} more`);
        if (what === "say") say(session, said.at(-1)!);
        else if (what === "look") session.entries();
        else if (what === "foreign") appendFileSync(session.file!, `\n${lineOf(`f${at}f`, `foreign ${at}`)}`);
        else truncateSync(session.file!, Math.floor(what * statSync(session.file!).size));
        if (what === "foreign") foreign.add(`foreign ${at}`);
      }
      const { leafId } = session;
      session.close();
      expect(pathOf(session.file!, leafId)).toEqual(said);
      const texts = textsOf(session.file!).filter((text) => !foreign.has(text));
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
