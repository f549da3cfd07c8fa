import { writeFileSync } from "node:fs";
import { messageText } from "@bonsai-agent/messages";
import { expect, test } from "vitest";
import { MemoryStore, openSession, repairSession } from "../src/index.ts";
import { scratchFolder } from "./scratch-folder.ts";

const HEADER = '{"type":"session","version":3,"id":"s1","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/w"}';
const path = scratchFolder();

const says = (id: string, parentId: string | null, text = id) =>
  JSON.stringify({
    type: "message",
    id,
    parentId,
    timestamp: "2026-01-05T09:00:00.000Z",
    message: { role: "user", content: text, timestamp: 0 },
  });
const [a, b, c] = [says("a", null), says("b", "a"), says("c", "b")];
const file = (...lines: string[]) => [HEADER, ...lines].map((line) => `${line}\n`).join("");
const open = (content: string) => openSession({ store: new MemoryStore(content) });
const seen = (content: string) =>
  open(content)
    .projection()
    .items.map(({ message }) => messageText(message));

/** A message whose content looks like entries. */
const quoting = says("b", "a", `${c} ${c}`);

const damagedLines: [name: string, lines: string[], sees: string[]][] = [
  ["garbage before an entry", [a, `#@!${b}`, c], ["a", "b", "c"]],
  ["garbage after an entry", [a, `${b}#@!`, c], ["a", "b", "c"]],
  ["garbage with a closing brace after an entry", [a, `${b}#@!}`, c], ["a", "b", "c"]],
  ["garbage on both sides", [a, `x{y"${b}}}"{`, c], ["a", "b", "c"]],
  ["two entries without a line break", [a, `${b}${c}`], ["a", "b", "c"]],
  ["three entries and garbage between", [`${a},${b}\u0000${c}`], ["a", "b", "c"]],
  ["the beginning of a line before an entry", [a, `${says("x", "a").slice(0, 90)}${b}`, c], ["a", "b", "c"]],
  ["an entry before the beginning of another", [a, `${b}${c.slice(0, 60)}`], ["a", "b"]],
];
test("reads and repairs the whole entries of a damaged line", () => {
  for (const [name, lines, sees] of damagedLines) {
    expect.soft(seen(file(...lines)), name).toEqual(sees);
    expect
      .soft(
        open(file(...lines))
          .entries()
          .map(({ id }) => id),
        name,
      )
      .toEqual(sees);
    const [origin, copy] = [path("origin.jsonl"), path(`${name}.jsonl`)];
    writeFileSync(origin, file(...lines));
    repairSession(origin, copy);
    const repaired = openSession(copy);
    expect
      .soft(
        repaired.projection().items.map(({ message }) => messageText(message)),
        name,
      )
      .toEqual(sees);
    expect.soft(repaired.problems(), name).toEqual([]);
  }
});

test("quoted entries, and entries inside a damaged message, are not entries of the session", () => {
  expect(
    open(file(a, quoting))
      .entries()
      .map(({ id }) => id),
  ).toEqual(["a", "b"]);
  expect(
    open(file(a, `#${quoting.slice(0, -3)}`))
      .entries()
      .map(({ id }) => id),
  ).toEqual(["a"]);
});

test.each<[name: string, lines: string[], says: RegExp | undefined]>([
  ["no damage", [a, b, c], undefined],
  ["a damaged line between", [a, b.slice(0, 20), c], /^1 line of the session file is damaged\./],
  ["a lost body between", [a, b.slice(0, -9), c], /^1 line of the session file is damaged\./],
  [
    "a body that is no JSON",
    [a, b.replace('"content"', "content"), c],
    /^1 line of the session file is damaged\./,
  ],
  ["two damaged lines", [a, "#@!", b.slice(0, 20), c], /^2 lines of the session file are damaged\./],
  ["a line that was deleted", [a, c], /^Entries are missing from the session file\./],
])("a session with %s gets at most one notice", (_, lines, expected) => {
  const session = open(file(...lines));
  session.projection();
  session.append({ type: "session_info", name: "x" });
  const found = session.notices.filter(({ code }) => code === "damaged_lines");
  expect(found).toHaveLength(expected === undefined ? 0 : 1);
  if (expected === undefined) return;
  expect(found[0]!.message).toMatch(expected);
  expect(found[0]!.message).toContain("bonsai session doctor");
});

test("a tree of all entries reports damage in the model's view", () => {
  const session = open(file(a, b.slice(0, 20), c));
  session.tree({ isParsed: true });
  expect(session.notices.map(({ code }) => code)).toEqual(["damaged_lines"]);
});

test("damage outside the model's view gets no notice", () => {
  const compaction = JSON.stringify({
    type: "compaction",
    id: "k",
    parentId: "c",
    timestamp: "2026-01-05T09:00:00.000Z",
    summary: "Notes.",
    firstKeptEntryId: "c",
    tokensBefore: 1,
  });
  const session = open(file(a, "#@!", says("c", "lost"), compaction, says("d", "k")));
  session.projection();
  expect(session.notices).toEqual([]);
});

test.each(["", " \n"])("a compaction with the summary %j hides nothing, and doctor names it", (summary) => {
  const compaction = JSON.stringify({
    type: "compaction",
    id: "k",
    parentId: "c",
    timestamp: "2026-01-05T09:00:00.000Z",
    summary,
    firstKeptEntryId: "c",
    tokensBefore: 1,
  });
  const content = file(a, b, c, compaction, says("d", "k"));
  expect(seen(content)).toEqual(["a", "b", "c", "d"]);
  expect(
    open(content)
      .problems()
      .map(({ line, kind }) => [line, kind]),
  ).toEqual([[5, "missing_summary"]]);
});

test("a session without its stored leaf reports the damage that hid it", () => {
  const moved = '{"type":"custom","id":"m","parentId":"c","timestamp":"","customType":"bonsai.leaf"}';
  for (const content of [file(a, b, c.slice(0, 20), moved), file(a, b, moved)]) {
    const session = open(content);
    session.projection();
    expect(session.notices.map(({ code }) => code)).toEqual(["damaged_lines"]);
  }
});

test("an entry after a line that was cut off at any place is read", () => {
  const entry = (id: string, parentId: string | null) => {
    const message = { role: "assistant", content: [{ type: "text", text: 'a\\ "b" {c}' }], timestamp: 0 };
    return JSON.stringify({ type: "message", id, parentId, timestamp: "2026-01-01T00:00:00.000Z", message });
  };
  const header = JSON.stringify({ type: "session", version: 3, id: "s", timestamp: "2026-01-01", cwd: "/" });
  const [first, torn, next] = [entry("a", null), entry("b", "a"), entry("c", "a")];
  for (let cut = 1; cut < torn.length; cut += 1) {
    const store = new MemoryStore(`${header}\n${first}\n${torn.slice(0, cut)}${next}\n`);
    expect([
      cut,
      openSession({ store })
        .path()
        .map(({ id }) => id),
    ]).toEqual([cut, ["a", "c"]]);
  }
});
