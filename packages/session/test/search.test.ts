import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { SecretFilter } from "@bonsai-agent/messages";
import { createSession, type EntryDraft, openSession, type Session } from "@bonsai-agent/session";
import { SessionSearch } from "@bonsai-agent/session/search";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { foundInSession } from "./found-in-session.ts";
import { scratchFolder } from "./scratch-folder.ts";

const pathOf = scratchFolder();

const usage = {
  input: 1,
  output: 1,
  cacheRead: 0,
  cacheWrite: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

function user(text: string): EntryDraft {
  return { type: "message", message: { role: "user", content: [{ type: "text", text }], timestamp: 0 } };
}

function call(args: Record<string, unknown>): EntryDraft {
  const content = [{ type: "toolCall" as const, id: "c", name: "edit", arguments: args }];
  const model = { api: "scripted", provider: "scripted", model: "scripted-1" };
  return {
    type: "message",
    message: { role: "assistant", content, ...model, usage, stopReason: "toolUse", timestamp: 0 },
  };
}

function sessionOf(...drafts: EntryDraft[]): Session {
  const session = createSession({ cwd: "/p" });
  session.append(drafts);
  return session;
}

describe("a search in one session", () => {
  const drafts: [string, EntryDraft, string][] = [
    ["any case", user("The Quick fox"), "quick FOX"],
    ["a quoted text", user('he said "no" twice'), 'said "no"'],
    ["across a newline", user("first\nsecond"), "first\nsecond"],
    ["a backslash", user("C:\\temp\\x"), "c:\\temp"],
    ["another script", user("位置は東京です"), "東京"],
    ["accents", user("Grüße aus Zürich"), "GRÜßE"],
    ["an emoji", user("done 🎉 at last"), "🎉"],
    ["a control character", user("\u001b[31mred"), "\u001b[31m"],
    ["special characters as they are", user("a.b*c(d)[e]"), "B*C(D)[E]"],
    ["a slash", user("see src/a/b.ts"), "src/a"],
    [
      "call arguments as they were meant",
      call({ path: "x", edits: [{ newText: 'say("hi")\n' }] }),
      'say("hi")\n',
    ],
    ["a deep number", call({ a: { b: [12345] } }), "12345"],
    ["a tool's name", call({}), "edit"],
    [
      "a summary",
      { type: "compaction", summary: "Goal: ship", firstKeptEntryId: "x", tokensBefore: 1 },
      "ship",
    ],
    ["a branch summary", { type: "branch_summary", summary: "tried threads", fromId: "x" }, "THREADS"],
    ["a label", { type: "label", targetId: "x", label: "before the move" }, "the move"],
    ["a name", { type: "session_info", name: "Orders" }, "orders"],
    [
      "an extension's message",
      { type: "custom_message", customType: "t", content: "note", display: true },
      "note",
    ],
  ];
  test("finds a text in any field of any entry", async () => {
    for (const [name, draft, query] of drafts)
      expect.soft(await foundInSession(sessionOf(user("other"), draft), query), name).toHaveLength(1);
  });

  test("does not find the JSON around a text", async () => {
    const session = sessionOf(user("plain"));
    for (const query of ["content", "role", "timestamp", '"text"', "message"])
      expect(await foundInSession(session, query)).toEqual([]);
  });

  test("finds the texts that a regular expression matches", async () => {
    const session = sessionOf(user("error TS2345: bad"), call({ a: "x", b: "TS12345" }), user("error TS99"));
    const hits = await foundInSession(session, /ts\d{4}/i);
    expect(hits.map(({ snippet }) => snippet)).toEqual(["error TS2345: bad", "TS12345"]);
  });

  test("an expression finds the same as a text, over several turns of the event loop", async () => {
    const session = sessionOf(
      ...Array.from({ length: 9 }, (_, at) => user(`${at} ${"x".repeat(70_000)} needle`)),
    );
    expect(await foundInSession(session, /needle/)).toEqual(await foundInSession(session, "needle"));
  });

  test("finds entries of all branches in file order", async () => {
    const session = sessionOf(user("needle one"));
    const fork = session.leafId;
    session.append(user("needle two"));
    session.moveTo(fork);
    const entry = session.append(user("needle three"));
    expect((await foundInSession(session, "needle")).map(({ snippet }) => snippet)).toEqual([
      "needle one",
      "needle two",
      "needle three",
    ]);
    expect(await foundInSession(session, "three")).toMatchObject([
      { file: "", entryId: entry.id, type: "message", role: "user", snippet: "needle three" },
    ]);
  });

  test("stops at the limit in file order, and reports that there are more hits", async () => {
    const session = sessionOf(...Array.from({ length: 9 }, (_, at) => user(`needle ${at}`)));
    const search = new SessionSearch({ index: false });
    const find = (limit: number) =>
      search.find({ terms: ["needle"] }, { scope: { session }, order: "file", limit });
    expect(await find(2)).toMatchObject({
      hits: [{ snippet: "needle 0" }, { snippet: "needle 1" }],
      more: true,
    });
    expect(await find(9)).toMatchObject({ more: false });
  });

  test("file order passes on to the next session when a session has its maximum of hits", async () => {
    for (const name of ["a", "b"]) {
      const session = createSession({ cwd: "/p", file: pathOf(`${name}.jsonl`) });
      session.append(Array.from({ length: 5 }, (_, at) => user(`needle ${name}${at}`)));
      session.close();
    }
    const search = new SessionSearch({ index: false });
    const options = { scope: { folder: pathOf("") }, order: "file", perSession: 1 } as const;
    expect(await search.find({ terms: ["needle"] }, { ...options, limit: 2 })).toMatchObject({
      hits: [{ snippet: "needle a0" }, { snippet: "needle b0" }],
      more: false,
    });
    expect(await search.find({ terms: ["needle"] }, { ...options, limit: 1 })).toMatchObject({ more: true });
  });

  test("redacts a secret before it cuts the text to a snippet", async () => {
    const secret = `correct-${"horse"}-7`;
    const text = `${secret} ${"x".repeat(50)} needle`;
    const search = new SessionSearch({ index: false });
    const { hits } = await search.find(
      { terms: ["needle"] },
      { scope: { session: sessionOf(user(text)) }, secrets: new SecretFilter([secret]) },
    );
    expect(hits[0]!.snippet).toContain("key]");
    expect(hits[0]!.snippet).not.toContain("horse");
  });

  test("shows one line around the match", async () => {
    const [hit] = await foundInSession(
      sessionOf(user(`${"a ".repeat(200)}\nthe needle\n${"b ".repeat(200)}`)),
      "needle",
    );
    expect(hit?.snippet).toMatch(/^…a .* a the needle b .*b…$/);
    expect(hit!.snippet.length).toBeLessThan(150);
  });
});

/** A session on disk is searched line by line before a line is parsed. */
function stored(name: string, ...texts: string[]): string {
  const file = pathOf(`${name}.jsonl`);
  const session = createSession({ cwd: "/p", file });
  session.append(texts.map(user));
  session.close();
  return file;
}

const found = async (file: string, query: string) =>
  (await foundInSession(openSession(file), query)).map(({ snippet }) => snippet);

test("finds text that another program escaped, in any case", async () => {
  const file = stored("escaped", "plain");
  const line = `{"type":"message","id":"eeeeeeee","parentId":null,"timestamp":"","message":{"role":"user","content":"\\u0047r\\u00fc\\u00dfe","timestamp":0}}`;
  appendFileSync(file, `${line}\n`);
  expect(await found(file, "gRÜSSE")).toEqual([]);
  expect(await found(file, "gRÜße")).toEqual(["Grüße"]);
});

test("finds the right entries after blank and damaged lines", async () => {
  const file = stored("blank", "one needle", "two");
  const [header, ...lines] = readFileSync(file, "utf8").trim().split("\n");
  const third = (lines.at(-1) ?? "")
    .replace(/"id":"\w+"/, '"id":"0000abcd"')
    .replace('"two"', '"last needle"');
  writeFileSync(file, [header, "", "{garbage}", "", "42", ...lines, "", "[]", third, ""].join("\n"));
  expect(await found(file, "needle")).toEqual(["one needle", "last needle"]);
});

test("law: every part of a text finds its entry", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }),
      fc.nat(),
      fc.nat(),
      async (text, a, b) => {
        const start = a % text.length;
        const query = text.slice(start, start + 1 + (b % (text.length - start)));
        expect(await foundInSession(sessionOf(user("something else?"), user(text)), query)).not.toEqual([]);
      },
    ),
  );
});
