import {
  appendFileSync,
  copyFileSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { messageText } from "@bonsai-agent/messages";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { createSession, openSession, type Session } from "../src/index.ts";
import {
  atWork,
  codes,
  damages,
  lineOf,
  pathOf,
  removals,
  restored,
  say,
  sizeAfter,
  textsOf,
} from "./session-at-work.ts";

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
