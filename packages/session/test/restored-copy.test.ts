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

test.each(damages)(
  "a session whose file is cut off %s goes on in a copy, with all entries",
  (_name, damage) => {
    const { session, file, said } = atWork();
    damage(file);
    say(session, "and on");
    say(session, "and further");
    session.close();
    expect(session.file).toBe(restored(file));
    expect(pathOf(session.file!)).toEqual([...said, "and on", "and further"]);
    expect(textsOf(session.file!)).toHaveLength(16);
    expect(openSession(session.file!).problems()).toEqual([]);
    expect(statSync(session.file!).mode & 0o777).toBe(0o600);
    expect(session.notices).toEqual([
      {
        code: "restored_copy",
        message: `Another program cut off, replaced or deleted ${file} while it was open. The session continues in ${session.file}.`,
      },
    ]);
  },
);

test.each([...damages, ["away", (file: string) => rmSync(file)] as const])(
  "after a pause, nothing is written to a file that was cut off %s",
  (_name, damage) => {
    const { session, file, said } = atWork();
    damage(file);
    const before = existsSync(file) ? readFileSync(file) : undefined;
    const later = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 60_000);
    say(session, "and on");
    later.mockRestore();
    session.close();
    expect(existsSync(file) ? readFileSync(file) : undefined).toEqual(before);
    expect(pathOf(restored(file))).toEqual([...said, "and on"]);
    expect(textsOf(restored(file))).toHaveLength(15);
    expect(openSession(restored(file)).problems()).toEqual([]);
  },
);

const losses: typeof damages = [
  ...damages,
  ["away", (file) => rmSync(file)],
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
  test.each(losses)(
    "goes on in a copy with the entries that the file still has: cut off %s",
    (_name, damage) => {
      const { session: earlier, file, said } = atWork();
      earlier.close();
      const session = openSession(file);
      damage(file);
      const before = existsSync(file) ? readFileSync(file) : undefined;
      say(session, "and on");
      say(session, "and further");
      session.close();
      expect(existsSync(file) ? readFileSync(file) : undefined).toEqual(before);
      expect(session.file).toBe(restored(file));
      const texts = pathOf(session.file!);
      expect(texts.slice(-2)).toEqual(["and on", "and further"]);
      expect(texts.slice(0, -2)).toEqual(said.slice(0, texts.length - 2));
      expect(textsOf(session.file!)).toEqual(texts);
      expect(openSession(session.file!).problems()).toEqual([]);
      expect(codes(session)).toEqual(["restored_copy"]);
    },
  );

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

test.each(damages)("closing a session whose file is cut off %s writes the copy", (_name, damage) => {
  const { session, file, said } = atWork();
  damage(file);
  session.close();
  expect(pathOf(restored(file))).toEqual(said);
  expect(textsOf(restored(file))).toHaveLength(14);
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
  for (let at = 0; at < 4; at += 1) say(session, `${at} ${long}`);
  truncateSync(file, 0);
  session.close();
  expect(pathOf(restored(file)).map((text) => text.slice(0, 7))).toEqual([
    ...said.map((text) => text.slice(0, 7)),
    ..."0123".split("").map((at) => `${at} xxxxx`),
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

  test.each(damages.flatMap(([where, damage]) => moves.map(([how, move]) => ({ where, damage, how, move }))))(
    "$where, $how: the copy has the whole path",
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
      expect(pathOf(session.file!)).toEqual(said.slice(0, 13));
      expect(textsOf(session.file!).toSorted()).toEqual(said.toSorted());
    },
  );
});

test.each([
  ["less than was cut off", lineOf("f0f0f0f0", "foreign")],
  ["more than was cut off", lineOf("f0f0f0f0", `foreign ${"x".repeat(9_000)}`)],
])(
  "entries that another process appends to the cut-off file stay there, also if they are %s",
  (_name, line) => {
    for (const lines of [0, 8]) {
      const { session, file, said } = atWork();
      truncateSync(file, lines === 0 ? 0 : sizeAfter(file, lines));
      appendFileSync(file, line);
      session.close();
      expect(pathOf(restored(file))).toEqual(said);
      expect(textsOf(restored(file)).slice(-7)).toEqual(said.slice(7));
      expect(openSession(restored(file)).problems()).toEqual([]);
      expect(readFileSync(file, "utf8")).toContain(line);
    }
  },
);

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

test.each<[string, (file: string) => void]>([
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
])("a session file that is replaced %s stays as it is; the session goes on in a copy", (_name, replace) => {
  const { session, file, said } = atWork();
  replace(file);
  const edited = readFileSync(file, "utf8");
  const later = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 60_000);
  say(session, "and on");
  later.mockRestore();
  session.close();
  expect(readFileSync(file, "utf8")).toBe(edited);
  expect(session.file).toBe(restored(file));
  expect(pathOf(session.file!).slice(7)).toEqual([...said.slice(7), "and on"]);
  expect(textsOf(session.file!)).toHaveLength(15);
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
  [
    "a longer session",
    (file) => {
      const other = createSession({ cwd: "/elsewhere", file: `${file}.2` });
      for (let at = 0; at < 40; at += 1) say(other, `other ${at}`);
      other.close();
    },
  ],
  ["text", (file) => writeFileSync(`${file}.2`, "somebody else's\n")],
])("%s that replaces the file, or is written over it, does not get into the copy", (_name, make) => {
  for (const put of [renameSync, copyFileSync]) {
    const { session, file, said } = atWork();
    make(file);
    const text = readFileSync(`${file}.2`, "utf8");
    put(`${file}.2`, file);
    say(session, "and on");
    session.close();
    expect(session.file).toBe(restored(file));
    expect(textsOf(session.file!)).toEqual([...said, "and on"]);
    expect(readFileSync(file, "utf8").startsWith(text)).toBe(true);
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

const both: [string, (file: string) => void][] = [...damages, ["away", (file) => rmSync(file)]];

test("two processes that find a file cut off at the same moment go on in a copy each", async () => {
  const whole = newFile();
  const session = createSession({ cwd: "/home/dev/shop", file: whole });
  const said = Array.from({ length: 500 }, (_, at) => `said ${at}`);
  for (const text of said) say(session, text);
  session.close();
  const files = both.map(() => newFile());
  for (const file of files) copyFileSync(whole, file);
  const names = ["one", "other"];
  const processes = names.map((name) => appendingProcess(["restore", files.join("\n"), name]));
  try {
    for (const [at, [where, damage]] of both.entries()) {
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
