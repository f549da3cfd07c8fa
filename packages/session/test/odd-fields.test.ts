import { readdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { BonsaiError, callsIn, emptyUsage, messageText, tokenEstimator } from "@bonsai-agent/messages";
import {
  cloneSession,
  entryTexts,
  forkSession,
  listSessions,
  openSession,
  repairSession,
  type Session,
} from "@bonsai-agent/session";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { assistant, base, bash, HEADER, oddSession, SOUND, user } from "./odd-session.ts";
import { scratchFolder } from "./scratch-folder.ts";

const pathOf = scratchFolder();
let files = 0;
const newFile = () => pathOf(`${files++}.jsonl`);
function written(...lines: object[]): string {
  const file = newFile();
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return file;
}

const texts = (session: Session) => session.projection().items.map(({ message }) => messageText(message));

/** Everything that is done with a session; ends in nothing but a result or an error with a code. */
function useAll(file: string): void {
  const session = openSession(file);
  for (const { message } of session.projection().items) {
    messageText(message);
    callsIn(message);
    tokenEstimator.message(message);
  }
  for (const entry of session.entries()) new Date(entry.timestamp).toISOString();
  new Date(session.header.timestamp).toISOString();
  session.labels();
  expect(["string", "undefined"]).toContain(typeof session.name);
  session.settings();
  session.problems();
  for (const entry of session.entries()) Array.from(entryTexts(entry));
  listSessions({ folder: pathOf("") });
  openSession(forkSession(session, { file: newFile() })).projection();
  openSession(cloneSession(session, { file: newFile() })).projection();
}

function useRepaired(file: string): void {
  const out = newFile();
  repairSession(file, out);
  expect(openSession(out).problems()).toEqual([]);
  expect(texts(openSession(out))).toEqual(texts(openSession(file)));
  useAll(out);
}

test("law: any value in any field is read, reported and repaired, and throws nothing but an error with a code", () => {
  fc.assert(
    fc.property(oddSession, (lines) => {
      const file = written(...lines);
      const bytes = readFileSync(file);
      try {
        useAll(file);
        useRepaired(file);
      } catch (error) {
        if (!BonsaiError.is(error)) throw error;
      }
      expect(readFileSync(file)).toEqual(bytes);
      for (const name of readdirSync(pathOf(""))) unlinkSync(pathOf(name));
    }),
  );
});

test("sound entries of every type have no odd field, and are repaired byte for byte", () => {
  const entries = SOUND.map((entry, at) => ({ ...entry, ...base(`a${at + 1}`, `a${at}`) }));
  const file = written(HEADER, { type: "message", ...base("a0", null), message: user }, ...entries);
  expect(openSession(file).problems()).toEqual([]);
  const out = newFile();
  repairSession(file, out);
  expect(readFileSync(out, "utf8")).toBe(readFileSync(file, "utf8"));
  expect(openSession(file).entries().slice(1)).toEqual(entries);
});

describe("an odd field is reported by its name", () => {
  const compaction = { type: "compaction", summary: "s", firstKeptEntryId: "a", tokensBefore: 1 };
  const oddEntries: [string, object, kinds: string[], read: object][] = [
    ["a compaction's size", { ...compaction, tokensBefore: "x" }, ["odd_field"], { tokensBefore: 0 }],
    ["a negative size", { ...compaction, tokensBefore: -1 }, ["odd_field"], { tokensBefore: 0 }],
    [
      "what a compaction keeps",
      { ...compaction, firstKeptEntryId: { toString: 5 } },
      ["odd_field", "missing_kept_entry"],
      { firstKeptEntryId: "" },
    ],
    [
      "a compaction's summary",
      { ...compaction, summary: 5 },
      ["missing_summary"],
      { type: "custom", customType: "bonsai.lost" },
    ],
    [
      "a branch summary",
      { type: "branch_summary", fromId: "a", summary: null },
      ["missing_summary"],
      { customType: "bonsai.lost" },
    ],
    [
      "where a branch ended",
      { type: "branch_summary", fromId: 5, summary: "s" },
      ["odd_field"],
      { fromId: "" },
    ],
    [
      "an extension's type",
      { type: "custom_message", customType: 5, content: "x", display: true },
      ["odd_field"],
      { customType: "unknown" },
    ],
    ["a name", { type: "session_info", name: 5 }, ["odd_field"], { type: "session_info" }],
    ["a label", { type: "label", targetId: "a", label: 5 }, ["odd_field"], { type: "label" }],
    [
      "a label's target",
      { type: "label", targetId: 5, label: "x" },
      ["odd_field"],
      { customType: "bonsai.lost" },
    ],
    [
      "an edit's target",
      { type: "context_edit", targetId: 5, replacement: null },
      ["odd_field"],
      { customType: "bonsai.lost" },
    ],
    [
      "an edit's replacement",
      { type: "context_edit", targetId: "a", replacement: 5 },
      ["odd_field"],
      { customType: "bonsai.lost" },
    ],
    [
      "a number for a time",
      { type: "session_info", timestamp: 86_400_000 },
      ["odd_field"],
      { timestamp: "1970-01-02T00:00:00.000Z" },
    ],
    [
      "no time",
      { type: "session_info", timestamp: undefined },
      ["odd_field"],
      { timestamp: "1970-01-01T00:00:00.000Z" },
    ],
    [
      "a time that is none",
      { type: "session_info", timestamp: "soon" },
      ["odd_field"],
      { timestamp: "1970-01-01T00:00:00.000Z" },
    ],
    [
      "a number for a role",
      { type: "message", message: { role: 5 } },
      ["odd_field"],
      { message: { role: "unknown" } },
    ],
    [
      "no role",
      { type: "message", message: { content: "x" } },
      ["odd_field"],
      { message: { role: "unknown", content: "x" } },
    ],
    [
      "a role nobody knows",
      { type: "message", message: { role: "constructor" } },
      [],
      { message: { role: "constructor" } },
    ],
    [
      "content in lists of lists",
      { type: "message", message: { role: "user", content: [["x"], null] } },
      ["odd_field"],
      { message: { content: [] } },
    ],
    [
      "a command without text",
      { type: "message", message: { ...bash, command: null, output: 5 } },
      ["odd_field", "odd_field"],
      { message: { command: "", output: "" } },
    ],
    [
      "a usage that is none",
      { type: "message", message: { ...assistant, usage: 5 } },
      ["odd_field"],
      { message: { role: "assistant" } },
    ],
    [
      "the details of a summary, which compaction reads",
      { ...compaction, details: { readFiles: 5, manifest: null } },
      [],
      { details: { readFiles: 5, manifest: null } },
    ],
    [
      "data of an undo, which its reader checks",
      { type: "custom", customType: "bonsai.undo", data: { compactionId: 5 } },
      [],
      { data: { compactionId: 5 } },
    ],
    [
      "a pin without a text, which its reader checks",
      {
        type: "custom_message",
        customType: "bonsai.pin",
        content: "x",
        display: true,
        details: { line: [] },
      },
      [],
      { customType: "bonsai.pin", content: "x" },
    ],
    [
      "a count that no request has, and what it is said to have cost",
      {
        type: "message",
        message: { ...assistant, usage: { ...emptyUsage(), input: 1e15, output: 5, cost: { total: 1e9 } } },
      },
      ["odd_field"],
      { message: { usage: { input: 0, output: 5, cost: { input: 0, total: 0 } } } },
    ],
    ["a type that every object has", { type: "constructor" }, [], { type: "constructor" }],
  ];
  test("in every type of entry", () => {
    for (const [name, entry, kinds, read] of oddEntries) {
      const file = written(
        HEADER,
        { type: "message", ...base("a", null), message: user },
        { ...base("b", "a"), ...entry },
      );
      const problems = openSession(file).problems();
      expect
        .soft(
          problems.map(({ kind }) => kind),
          name,
        )
        .toEqual(kinds);
      expect.soft(openSession(file).entry("b"), name).toMatchObject(read);
      useAll(file);
      useRepaired(file);
    }
  });

  test("a message of an unknown role is kept, and the model does not see it", () => {
    const message = { role: "toString", content: "x" };
    const file = written(
      HEADER,
      { type: "message", ...base("a", null), message: user },
      { type: "message", ...base("b", "a"), message },
    );
    expect(texts(openSession(file))).toEqual(["hello"]);
    expect(openSession(file).entry("b")).toMatchObject({ message });
  });
});

describe("an odd header", () => {
  const lines = [
    { type: "message", ...base("a", null), message: user },
    { type: "message", ...base("b", "a"), message: user },
    { type: "message", ...base("c", "a"), message: { ...user, content: "other" } },
  ];

  test("an impossible version is a damage, and repaired as version 3", () => {
    for (const version of [0, -1, 3.5, "3", [], {}, true]) {
      const file = written({ ...HEADER, version }, ...lines);
      expect
        .soft(
          openSession(file)
            .problems()
            .map(({ line, kind }) => [line, kind]),
          `${version}`,
        )
        .toEqual([[1, "damaged_header"]]);
      const out = newFile();
      repairSession(file, out);
      expect.soft(openSession(out).problems(), `${version}`).toEqual([]);
      expect.soft(openSession(out).header, `${version}`).toEqual(HEADER);
      expect.soft(texts(openSession(out)), `${version}`).toEqual(["hello", "other"]);
      expect.soft(texts(openSession(file)), `${version}`).toEqual(["hello", "other"]);
    }
  });

  test("says why nothing can be appended", () => {
    const file = written({ ...HEADER, version: -1 }, ...lines);
    expect(openSession(file).readOnly).toMatch(/^The header has the impossible format version -1/);
  });

  test("fields of other kinds are reported by name, and read as nothing", () => {
    const file = written({ ...HEADER, id: {}, timestamp: 5, cwd: {}, parentSession: 7 }, ...lines);
    const found = openSession(file).problems();
    expect(found.map(({ line, message }) => `${line} ${message.split(" ")[3]}`)).toEqual([
      ...["1 id", "1 timestamp", "1 cwd", "1 parentSession"],
    ]);
    expect(openSession(file).header).toMatchObject({ id: "unknown", cwd: "" });
    useRepaired(file);
  });
});
