import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { SecretFilter } from "@bonsai-agent/messages";
import { createSession, type EntryDraft, openSession, type Session } from "@bonsai-agent/session";
import { SessionSearch } from "@bonsai-agent/session/search";
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
    ["any case", user("The Quick fox"), "FOX"],
    ["a newline within words", user("first\nsecond"), '"first second"'],
    ["another script", user("位置は東京です"), "東京"],
    ["accents", user("Grüße aus Zürich"), "GRÜSSE"],
    ["an emoji", user("done 🎉 at last"), "🎉"],
    ["a path", user("see src/a/b.ts"), '"src/a"'],
    ["an argument of a call", call({ path: "x", edits: [{ newText: 'say("hi")\n' }] }), "hi"],
    ["a deep number", call({ a: { b: [12345] } }), "12345"],
    ["a tool's name", call({}), "edit"],
    [
      "a summary",
      { type: "compaction", summary: "Goal: ship", firstKeptEntryId: "x", tokensBefore: 1 },
      "ship",
    ],
    ["a branch summary", { type: "branch_summary", summary: "tried threads", fromId: "x" }, "THREADS"],
    ["a label", { type: "label", targetId: "x", label: "before the move" }, "move"],
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

  test("finds the texts that a regular expression matches, in file order", async () => {
    const session = sessionOf(user("error TS2345: bad"), call({ a: "x", b: "TS12345" }), user("error TS99"));
    const hits = await foundInSession(session, /ts\d{4}/i);
    expect(hits.map(({ snippet }) => snippet)).toEqual(["error TS2345: bad", "TS12345"]);
  });

  test("an expression finds the same entries as a word, over several turns of the event loop", async () => {
    const session = sessionOf(
      ...Array.from({ length: 9 }, (_, at) => user(`${at} ${"x ".repeat(35_000)} needle`)),
    );
    const ids = async (query: string | RegExp) =>
      (await foundInSession(session, query)).map(({ entryId }) => entryId).sort();
    expect(await ids(/needle/)).toEqual(await ids("needle"));
  });

  test("finds entries of all branches", async () => {
    const session = sessionOf(user("needle one"));
    const fork = session.leafId;
    session.append(user("needle two"));
    session.moveTo(fork);
    const entry = session.append(user("needle three"));
    const texts = (await foundInSession(session, "needle")).map(({ snippet }) => snippet);
    expect(texts.sort()).toEqual(["needle one", "needle three", "needle two"]);
    expect(await foundInSession(session, "three")).toMatchObject([
      { file: "", entryId: entry.id, type: "message", role: "user", snippet: "needle three" },
    ]);
  });

  test("an expression stops at the limit, and reports that there are more hits", async () => {
    const session = sessionOf(...Array.from({ length: 9 }, (_, at) => user(`needle ${at}`)));
    const search = new SessionSearch({ index: false });
    const findTexts = async (texts: readonly string[]) =>
      new Map(texts.map((_, at) => [at, { start: 0, end: 6 }] as const));
    const find = (limit: number) => search.find({ findTexts }, { scope: { session }, limit });
    expect(await find(2)).toMatchObject({
      hits: [{ snippet: "needle 0" }, { snippet: "needle 1" }],
      more: true,
    });
    expect(await find(9)).toMatchObject({ more: false });
  });

  test("redacts a secret before it cuts the text to a snippet", async () => {
    const secret = `correct-${"horse"}-7`;
    const text = `${secret} ${"x".repeat(50)} needle`;
    const search = new SessionSearch({ index: false });
    const options = { scope: { session: sessionOf(user(text)) }, secrets: new SecretFilter([secret]) };
    const { hits } = await search.find("needle", options);
    expect(hits[0]!.snippet).toContain("key]");
    expect(hits[0]!.snippet).not.toContain("horse");
    expect((await search.find("horse", options)).hits).toEqual([]);
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
  expect(await found(file, "gRUSSE")).toEqual(["Grüße"]);
  expect(await found(file, "gRÜße")).toEqual(["Grüße"]);
});

test("finds the right entries after blank and damaged lines", async () => {
  const file = stored("blank", "one needle", "two");
  const [header, ...lines] = readFileSync(file, "utf8").trim().split("\n");
  const third = (lines.at(-1) ?? "")
    .replace(/"id":"\w+"/, '"id":"0000abcd"')
    .replace('"two"', '"last needle"');
  writeFileSync(file, [header, "", "{garbage}", "", "42", ...lines, "", "[]", third, ""].join("\n"));
  expect(await found(file, "needle")).toEqual(["last needle", "one needle"]);
});
