import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { messageText } from "@bonsai-agent/messages";
import { recordedSession } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { MemoryStore, openSession, type Session } from "../src/index.ts";
import { childSession } from "./child-session.ts";
import { scratchFolder } from "./scratch-folder.ts";

const pathOf = scratchFolder();
const said = (content: string) =>
  ({ type: "message", message: { role: "user", content, timestamp: 0 } }) as const;
const texts = (session: Session) => session.projection().items.map(({ message }) => messageText(message));

function version1(...lines: object[]): string {
  const header = {
    type: "session",
    id: "old",
    timestamp: "2025-11-20T00:00:00.000Z",
    cwd: "/w",
    provider: "p",
  };
  return [header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join("");
}

function message(content: string, role = "user"): object {
  return { type: "message", timestamp: "2025-11-20T00:00:01.000Z", message: { role, content, timestamp: 1 } };
}

const compaction = {
  type: "compaction",
  timestamp: "",
  summary: "sum",
  firstKeptEntryIndex: 2,
  tokensBefore: 9,
};

describe("version 1", () => {
  const content = version1(message("a"), message("b"), message("c"), compaction, message("d"));

  test("is one line of entries, whose ids are the same at every reading", () => {
    const open = () => openSession({ store: new MemoryStore(content) });
    const session = open();
    expect(session.path().map(({ id }) => id)).toEqual([
      "00000001",
      "00000002",
      "00000003",
      "00000004",
      "00000005",
    ]);
    expect(session.path()).toEqual(open().path());
    expect(session.path().map(({ parentId }) => parentId)).toEqual([
      null,
      ...session
        .path()
        .map(({ id }) => id)
        .slice(0, -1),
    ]);
  });

  test("a compaction's index counts lines, the header being 0", () => {
    expect(texts(openSession({ store: new MemoryStore(content) }))).toEqual(["sum", "b", "c", "d"]);
  });

  test("every entry has its own view, and the place before the first an empty one", () => {
    const session = openSession({ store: new MemoryStore(content) });
    const at = (id: string | null) => session.projection(id).items.map(({ message }) => messageText(message));
    expect([at(null), at("00000001"), at("00000003")]).toEqual([[], ["a"], ["a", "b", "c"]]);
    expect(() => at("nobody")).toThrow(expect.objectContaining({ code: "entry_not_found" }));
  });

  test("a header that says version 1, blank and damaged lines do not shift the ids", () => {
    const spread = content.replaceAll("\n", "\n\n").replace('"id":"old"', '"version":1,"id":"old"');
    expect(texts(openSession({ store: new MemoryStore(spread) }))).toEqual(["sum", "b", "c", "d"]);
    const damaged = content.replace(JSON.stringify(message("a")), "{garbage");
    expect(texts(openSession({ store: new MemoryStore(damaged) }))).toEqual(["sum", "b", "c", "d"]);
  });
});

test("version 2: the role hookMessage is today's custom", () => {
  const content = version1({
    id: "aaaaaaaa",
    parentId: null,
    ...message("from an extension", "hookMessage"),
  });
  const store = new MemoryStore(content.replace('"id":"old"', '"version":2,"id":"old"'));
  const session = openSession({ store });
  expect(session.projection().items[0]?.message).toMatchObject({ role: "custom" });
  expect(session.entry("aaaaaaaa")).toMatchObject({ message: { role: "custom" } });
});

describe("entries are read as what they are, whatever the header says", () => {
  const place = (id: string, parentId: string | null) => ({ id, parentId });
  const newer = [
    { ...place("a", null), ...message("a") },
    { ...place("b", "a"), ...message("b") },
    {
      ...place("c", "a"),
      ...message("c"),
      message: { role: "hookMessage", customType: "note", content: "c", display: true, timestamp: 1 },
    },
    {
      ...{ ...compaction, ...place("d", "c"), timestamp: "2025-11-20T00:00:02.000Z" },
      ...{ firstKeptEntryIndex: undefined, firstKeptEntryId: "c" },
    },
  ];
  const under = (version: unknown, ...lines: object[]) => {
    const [header = "", ...rest] = version1(...lines).split("\n");
    return [JSON.stringify({ ...JSON.parse(header), version }), ...rest].join("\n");
  };
  const open = (text: string) => openSession({ store: new MemoryStore(text) });

  test("entries with ids under any version", () => {
    for (const version of [1, 2, 3, undefined, null]) {
      const session = open(under(version, ...newer));
      expect
        .soft(
          session.entries().map(({ id, parentId }) => [id, parentId]),
          `${version}`,
        )
        .toEqual([
          ["a", null],
          ["b", "a"],
          ["c", "a"],
          ["d", "c"],
        ]);
      expect.soft(texts(session), `${version}`).toEqual(["sum", "c"]);
      expect.soft(session.entry("c"), `${version}`).toMatchObject({ message: { role: "custom" } });
      expect.soft(session.problems(), `${version}`).toEqual([]);
      session.append(said("next"));
      expect.soft(texts(session), `${version}`).toEqual(["sum", "c", "next"]);
      expect.soft(session.header.version, `${version}`).toBe(3);
    }
  });

  test("entries without ids under any version", () => {
    for (const version of [1, 2, 3]) {
      const session = open(
        under(version, message("a"), message("b"), message("c"), compaction, message("d")),
      );
      expect.soft(texts(session), `${version}`).toEqual(["sum", "b", "c", "d"]);
    }
  });

  test("some with and some without", () => {
    const mixed = [message("a"), { ...place("b", "00000001"), ...message("b") }, message("c")];
    expect(texts(open(under(1, ...mixed)))).toEqual(["a", "b", "c"]);
    expect(texts(open(under(3, ...newer.slice(0, 2), message("x"))))).toEqual(["a", "b", "x"]);
  });
});

describe("going on from an old version", () => {
  const content = version1(message("a"), message("b"), { type: "hologram", depth: 7 }, compaction);

  test("happens in a copy beside it, which is named; the original stays as it is", () => {
    const file = pathOf("day.jsonl");
    writeFileSync(file, content);
    const session = openSession(file);
    expect(session.notices).toEqual([]);
    const before = texts(session);
    session.append(said("next"));
    expect(readFileSync(file, "utf8")).toBe(content);
    expect(basename(session.file!)).toBe("day.v3.jsonl");
    expect(session.notices).toEqual([
      { code: "migrated_copy", message: expect.stringContaining(session.file!) },
    ]);
    expect(session.header).toMatchObject({ version: 3, parentSession: file, cwd: "/w", provider: "p" });
    expect(session.id).not.toBe("old");
    const copy = openSession(session.file!);
    expect(copy.problems()).toEqual([]);
    expect(texts(copy)).toEqual([...before, "next"]);
    expect(copy.path()).toEqual(session.path());
    expect(copy.entries().map(({ type }) => type as string)).toContain("hologram");
  });

  test("takes the next free name, and moving the leaf counts as going on", () => {
    const file = pathOf("again.jsonl");
    writeFileSync(file, content);
    writeFileSync(pathOf("again.v3.jsonl"), "somebody else's");
    const session = openSession(file);
    session.moveTo("00000001");
    expect(basename(session.file!)).toBe("again.v3-2.jsonl");
    expect(readFileSync(pathOf("again.v3.jsonl"), "utf8")).toBe("somebody else's");
    expect(openSession(session.file!).leafId).toBe("00000001");
    expect(readdirSync(pathOf(".")).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  test("goes on in the copy that was made before, and says so", () => {
    const file = pathOf("twice.jsonl");
    writeFileSync(file, content);
    const first = openSession(file);
    const one = first.append(said("one"));
    first.close();
    const second = openSession(file);
    expect([second.file, second.leafId]).toEqual([first.file, one.id]);
    const two = second.append(said("two"));
    expect(second.notices).toEqual([
      { code: "migrated_copy", message: expect.stringContaining("which an earlier run created") },
    ]);
    const copy = openSession(first.file!);
    expect(copy.problems()).toEqual([]);
    expect([copy.entry(one.id), copy.entry(two.id)]).toEqual([one, two]);
    expect(two.parentId).toBe(one.id);
    expect(texts(copy)).toEqual(texts(second));
    openSession(file).moveTo("00000001");
    expect(openSession(first.file!).leafId).toBe("00000001");
    expect(readdirSync(pathOf(".")).filter((name) => name.startsWith("twice"))).toHaveLength(2);
  });

  test.each([
    ["is damaged", (copy: string) => `${copy}{garbage\n`],
    ["lacks what the original gained since", (copy: string) => copy.replace(/.*hologram.*\n/, "")],
    [
      "is of another session",
      (copy: string) => copy.replace(/"parentSession":"[^"]*"/, '"parentSession":"/x"'),
    ],
  ])("makes another copy where the one before %s", (_, change) => {
    const file = pathOf(`${_.replaceAll(" ", "-")}.jsonl`);
    writeFileSync(file, content);
    const first = openSession(file);
    first.append(said("one"));
    writeFileSync(first.file!, change(readFileSync(first.file!, "utf8")));
    const second = openSession(file);
    second.append(said("two"));
    expect(second.file).toMatch(/\.v3-2\.jsonl$/);
    expect(openSession(second.file!).problems()).toEqual([]);
  });

  test("in memory needs no file", () => {
    const session = openSession({ store: new MemoryStore(content) });
    session.append(said("next"));
    expect(session.file).toBeUndefined();
    expect(texts(session)).toEqual(["sum", "b", "next"]);
  });

  test("a copy that cannot be finished leaves nothing behind, and the session as it was", () => {
    const file = pathOf(`${"x".repeat(240)}.jsonl`);
    writeFileSync(file, content);
    const session = openSession(file);
    const names = readdirSync(pathOf("."));
    expect(() => session.append(said("next"))).toThrow(
      expect.objectContaining({ code: "session_not_created" }),
    );
    expect(readdirSync(pathOf("."))).toEqual(names);
    expect(session.file).toBe(file);
    expect(texts(session)).toEqual(["sum", "b"]);
  });

  test("a disk that is full in the middle of the copy leaves nothing behind either", async () => {
    const file = pathOf("full.jsonl");
    writeFileSync(file, longDay());
    const names = readdirSync(pathOf("."));
    expect(await childSession(["fill", file], { limitKib: 16 })).toMatchObject({
      code: "session_not_created",
      acknowledged: 0,
    });
    expect(readdirSync(pathOf("."))).toEqual(names);
    expect(readFileSync(file, "utf8")).toBe(longDay());
  });
});

test("a working day of version 1 goes on as a session of today", () => {
  const recorded = recordedSession();
  const content = recorded === undefined ? longDay() : readFileSync(recorded, "utf8");
  const file = pathOf("recorded.jsonl");
  writeFileSync(file, content);
  const session = openSession(file);
  const entryCount = content.trim().split("\n").length - 1;
  expect(session.path()).toHaveLength(entryCount);
  const before = session.projection();
  expect(session.problems()).toEqual([]);
  session.append(said("next"));
  const copy = openSession(session.file!);
  expect(copy.projection().items.slice(0, -1)).toEqual(before.items);
  expect(copy.path()).toHaveLength(entryCount + 1);
});

/** As many entries as a real day, for where none was recorded. */
function longDay(): string {
  return version1(
    ...Array.from({ length: 1018 }, (_, at) => message(`said ${at}`, at % 2 === 0 ? "user" : "assistant")),
  );
}
