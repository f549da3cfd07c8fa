import { writeFileSync } from "node:fs";
import { adversarialTexts } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openSession } from "../src/index.ts";
import { foundInSession } from "./found-in-session.ts";
import { damagedFile } from "./random-file.ts";
import { RecordedHome } from "./recorded-home.ts";

const all = { limit: Number.POSITIVE_INFINITY };

/** The snippets of the index, sorted; those of a scan are the same. */
async function foundBoth(home: RecordedHome, query: string): Promise<string[]> {
  const found = [home.search(), home.search({ index: false })].map(async (search) => {
    const { hits } = await search.find(query, all);
    return hits.map(({ snippet }) => snippet).sort();
  });
  const [indexed, scanned] = await Promise.all(found);
  expect(indexed).toEqual(scanned);
  return indexed!;
}

describe("the index and a scan find", () => {
  const queries: [string, string, string[]][] = [
    ["a word in any case", "QUICK", ["The Quick fox"]],
    ["an entry that lacks a word of the query", "quick needle", ["The Quick fox"]],
    ["a phrase", '"quick fox"', ["The Quick fox"]],
    ["no phrase in another order", '"fox quick"', []],
    ["no phrase with other characters between", '"quick, fox"', []],
    ["another form of a word", "listens", ["it listened on port 48213"]],
    ["a number", "48213", ["it listened on port 48213"]],
    ["a part of an identifier", "dleWebh", ["handleWebhook(req)"]],
    ["a word of an identifier", "webhook", ["handleWebhook(req)"]],
    ["a path", "api/v2", ["see src/api/v2/user.ts"]],
    ["two Chinese characters", "東京", ["位置は東京です", "東京"]],
    ["one", "京", ["位置は東京です", "東京"]],
    ["three", "東京で", ["位置は東京です", "東京"]],
    ["a word without its accents", "grossenangaben", ["Größenangaben"]],
    ["accents in another case", "GRÖSSENANGABEN", ["Größenangaben"]],
    ["Danish letters", "smorrebrod aebler", ["Smørrebrød og æbler"]],
    ["an emoji", "🎉", ["done 🎉"]],
    ["operators as words", "NEAR", ["x NEAR y"]],
    ["a quote that does not close", '"quick', ["The Quick fox"]],
    ["no hit for a single quote", '"', []],
    ["no hit for an unknown word", "zzzneedle", []],
    ["no hit for blanks", "  ", []],
    ["no hit for empty quotes", '""', []],
  ];
  test("words, phrases and parts of words in any script", async () => {
    const home = new RecordedHome();
    const texts = ["The Quick fox", "handleWebhook(req)", "see src/api/v2/user.ts", "位置は東京です", "東京"];
    const more = ["it listened on port 48213", "Größenangaben", "Smørrebrød og æbler", "done 🎉", "x NEAR y"];
    home.write("one", ...texts, ...more, "C:\\temp[0]");
    for (const [name, query, expected] of queries)
      expect.soft(await foundBoth(home, query), name).toEqual(expected.toSorted());
  });

  test("a match in each text of an entry, and in the call of a result", async () => {
    const home = new RecordedHome();
    const call = {
      type: "toolCall",
      id: "c",
      name: "edit",
      arguments: { path: "other/half.ts", n: [12345] },
    };
    home.write("one");
    const entry = JSON.parse(home.line(""));
    const said = { ...entry, message: { role: "assistant", content: [{ type: "text", text: "one" }, call] } };
    const result = { role: "toolResult", toolCallId: "c", toolName: "edit", content: "written" };
    const lines = [said, { ...entry, id: "e1", message: result }].map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(home.file(), lines.join(""), { flag: "a" });
    for (const query of ["half", "12345"]) expect(await foundBoth(home, query)).toHaveLength(2);
  });

  test("a text of many characters", async () => {
    const home = new RecordedHome();
    home.write("one", `${"far ".repeat(100_000)}needle`, "needle");
    expect(await foundBoth(home, "needle")).toHaveLength(2);
  });
});

describe("ranks first", () => {
  const firsts: [string, string[], string, string][] = [
    ["a rare word", ["the error again", "the error", "the walrus"], "the error walrus", "the walrus"],
    ["more words", ["error walrus", "error", "walrus"], "error walrus", "error walrus"],
    ["a short entry", [`needle ${"hay ".repeat(500)}`, "needle", "straw", "more straw"], "needle", "needle"],
    ["words in their order", ["limit the rate", "the rate limit", "other"], "rate limit", "the rate limit"],
    ["the newer of equals", ["needle a", "straw", "needle b"], "needle", "needle b"],
    [
      "an entry next to other words",
      ["needle a", "straw", "hay", "walrus", "needle b"],
      "needle walrus",
      "walrus",
    ],
  ];
  test("entries by rarity, number and order of their words, by length, neighbours and time", async () => {
    for (const [name, texts, query, first] of firsts) {
      const home = new RecordedHome();
      home.write("one", ...texts);
      for (const index of [true, false]) {
        const { hits } = await home.search({ index }).find(query);
        expect.soft(hits[0]?.snippet.slice(0, first.length), name).toBe(first);
      }
    }
  });

  test("the user's words before a result", async () => {
    const home = new RecordedHome();
    home.write("one", "needle");
    const result = { role: "toolResult", toolCallId: "c", toolName: "read", content: "needle" };
    const line = JSON.stringify({ ...JSON.parse(home.line("")), message: result });
    writeFileSync(home.file(), `${line}\n`, { flag: "a" });
    for (const index of [true, false]) {
      const { hits } = await home.search({ index }).find("needle");
      expect(hits.map(({ role }) => role)).toEqual(["user", "toolResult"]);
    }
  });
});

test("an entry in several forks is one hit; a list of sessions has each fork", async () => {
  const home = new RecordedHome();
  const line = `${home.line("needle")}\n`;
  for (const name of ["one", "two", "three"]) {
    home.write(name);
    writeFileSync(home.file(name), line, { flag: "a" });
  }
  home.append("two", "another needle");
  for (const index of [true, false]) {
    const search = home.search({ index });
    const { hits } = await search.find("needle");
    expect(hits.map(({ snippet }) => snippet).sort()).toEqual(["another needle", "needle"]);
    expect((await search.find("needle", { perSession: 1 })).hits).toHaveLength(3);
  }
});

test("returns only the requested entries, and reports that the limit removed hits", async () => {
  const home = new RecordedHome();
  home.write("one", ...Array.from({ length: 9 }, (_, at) => `needle ${at}`));
  const search = home.search();
  const { hits, more } = await search.find("needle", { limit: 3 });
  expect([hits.length, more]).toEqual([3, true]);
  expect(hits[0]).toMatchObject({ file: home.file(), type: "message", role: "user" });
  const entryIds = new Set([hits[1]!.entryId]);
  expect(await search.find("needle", { entryIds })).toMatchObject({ hits: [hits[1]], more: false });
});

const words = fc.constantFrom("line", "edited", "said in", "sum", "2", "in", "x", "東", "said edited");

test("law: on any file, the index, a scan and an open session find the same entries", async () => {
  await fc.assert(
    fc.asyncProperty(damagedFile, damagedFile, fc.nat(), words, async (text, other, cut, query) => {
      const home = new RecordedHome();
      const bytes = Buffer.from(text);
      const at = cut % (bytes.length + 1);
      writeFileSync(home.file(), bytes.subarray(0, at));
      writeFileSync(home.file("two"), other);
      const index = home.search();
      await index.catchUp();
      writeFileSync(home.file(), bytes.subarray(at), { flag: "a" });
      const found = async (search: typeof index, scope = {}) =>
        new Set((await search.find(query, { ...all, scope })).hits.map(({ entryId }) => entryId));
      expect(await found(index)).toEqual(await found(home.search({ index: false })));
      const session = openSession(home.file(), { onNotice: () => {} });
      const known = new Set((await foundInSession(session, query)).map(({ entryId }) => entryId));
      expect(await found(index, { sources: [{ file: home.file() }] })).toEqual(known);
      session.close();
    }),
  );
});

test("law: every word of a text finds the text", async () => {
  const text = fc.oneof(fc.string({ unit: "grapheme", minLength: 1 }), fc.string({ minLength: 1 }));
  await fc.assert(
    fc.asyncProperty(fc.array(text, { minLength: 1, maxLength: 20 }), fc.nat(), async (texts, number) => {
      const home = new RecordedHome();
      home.write("one", ...texts);
      const found = texts.join(" ").match(/[\p{L}\p{N}]+/gu) ?? ["x"];
      const word = found[number % found.length]!;
      const isIn = texts.some((each) => each.includes(word));
      for (const index of [true, false]) {
        const { hits } = await home.search({ index }).find(word, all);
        expect(hits.length > 0 || !isIn).toBe(true);
      }
    }),
  );
});

/** Quadratic time exceeds this limit. Linear time needs a tenth of it. */
const LIMIT = { timeout: process.env.LAW_RUNS ? 120_000 : 40_000 };

test("Invariant: time is linear in any text and any query", LIMIT, async () => {
  const home = new RecordedHome();
  const texts = adversarialTexts().map(([, text]) => text);
  for (const [at, text] of texts.entries()) home.write(`${at}`, `${text} needle`);
  const search = home.search();
  await search.catchUp();
  for (const [at, text] of texts.entries())
    for (const query of [text.slice(0, text.length / 2), `"${text}"`])
      await search.find(query, { scope: { sources: [{ file: home.file(`${at}`) }] } });
  expect((await search.find("needle", all)).hits).toHaveLength(texts.length);
});
