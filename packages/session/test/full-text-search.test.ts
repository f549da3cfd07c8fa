import { writeFileSync } from "node:fs";
import { adversarialTexts } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openSession } from "../src/index.ts";
import { parseSearchQuery } from "../src/search/index.ts";
import type { SearchQuery } from "../src/search/query.ts";
import { foundInSession } from "./found-in-session.ts";
import { damagedFile } from "./random-file.ts";
import { RecordedHome, snippets } from "./recorded-home.ts";

const all = { limit: Number.POSITIVE_INFINITY };

/** The hits of the index, which are those of a scan. */
async function foundBoth(home: RecordedHome, query: SearchQuery): Promise<string[]> {
  const index = home.search();
  expect(await index.catchUp()).toBe("complete");
  const [indexed, scanned] = [
    await index.find(query, all),
    await home.search({ index: false }).find(query, all),
  ];
  expect(indexed).toEqual(scanned);
  return indexed.hits.map(({ snippet }) => snippet).sort();
}

describe("the index and a scan find", () => {
  const queries: [string, string, string[]][] = [
    ["words anywhere in an entry", "fox quick", ["The Quick fox"]],
    ["a phrase", '"quick fox"', ["The Quick fox"]],
    ["no phrase in another order", '"fox quick"', []],
    ["a part of an identifier", "dleWebh", ["handleWebhook(req)"]],
    ["of a path", "src/api/v2", ["see src/api/v2/user.ts"]],
    ["Chinese and Japanese, two characters long", "東京", ["位置は東京です", "東京"]],
    ["and one", "京", ["位置は東京です", "東京"]],
    ["three", "東京で", ["位置は東京です"]],
    ["short words", "is a", ["This is a b"]],
    ["a short word beside a longer one", "b this", ["This is a b"]],
    ["accents in another case", "GRÜßE", ["Grüße"]],
    ["an emoji", "🎉", ["done 🎉"]],
    ["an emoji in a phrase", '"done 🎉"', ["done 🎉"]],
    ["operators as words", "AND OR NOT", ["x AND y OR z NOT w NEAR"]],
    ["stars and colons", "col:umn*", ["col:umn* ^2"]],
    ["a quote that does not close", '"quick', ["The Quick fox"]],
    ["a quote within a word", 'say("hi', ['say("hi")']],
    ["a quote alone", '"', ['say("hi")']],
    ["a zero", "nul\0byte", ["nul byte\0".replace(" ", "\0")]],
    ["half a surrogate pair", "\ud83c", ["done 🎉"]],
    ["brackets and backslashes", "c:\\temp[0](1)", ["C:\\temp[0](1)"]],
    ["what nothing holds", "zzzneedle", []],
    ["nothing of blanks", "  ", []],
    ["nothing of empty quotes", '""', []],
  ];
  test("words, phrases and parts of words in any script", async () => {
    for (const [name, query, expected] of queries) {
      const home = new RecordedHome();
      const texts = [
        "The Quick fox",
        "handleWebhook(req)",
        "see src/api/v2/user.ts",
        "位置は東京です",
        "東京",
      ];
      const more = ["This is a b", "Grüße", "done 🎉", "x AND y OR z NOT w NEAR", "col:umn* ^2", 'say("hi")'];
      home.write("one", ...texts, ...more, "nul\0byte\0", "C:\\temp[0](1)");
      expect.soft(await foundBoth(home, parseSearchQuery(query)), name).toEqual(expected);
    }
  });

  test("any of the words on request, except short ones", async () => {
    const home = new RecordedHome();
    home.write("one", "the parser", "the lexer of it", "of all", "the printer");
    const query = parseSearchQuery("parser of lexer", "any");
    expect(await foundBoth(home, query)).toEqual(["the lexer of it", "the parser"]);
  });

  const indexedQueries: [string, SearchQuery][] = [
    ["all words", parseSearchQuery("the parser")],
    ["a phrase", parseSearchQuery('"the parser"')],
    ["two letters", parseSearchQuery("pa")],
    ["any word", parseSearchQuery("parser of lexer", "any")],
    ["words that no session has", parseSearchQuery("zzzneedle")],
  ];
  test("a search reads no indexed session again", async () => {
    for (const [name, query] of indexedQueries) {
      const home = new RecordedHome();
      home.write("one", "the parser", "the lexer of it", "of all", "the printer");
      home.write("two", "the parser again");
      const index = home.search();
      await index.catchUp();
      const filesToRead: number[] = [];
      await index.find(query, { ...all, onProgress: (progress) => filesToRead.push(progress.filesToRead) });
      expect.soft(new Set(filesToRead), name).toEqual(new Set([0]));
      expect.soft(home.notices, name).toEqual([]);
    }
  });

  test("a match within each text of an entry, and none across two", async () => {
    const home = new RecordedHome();
    const content = [
      { type: "text", text: "one half" },
      {
        type: "toolCall",
        id: "c",
        name: "edit",
        arguments: { path: "other/half.ts", edits: [{ n: 12345 }] },
      },
    ];
    const message = { role: "assistant", content };
    home.write("one");
    const entry = { ...JSON.parse(home.line("")), message };
    writeFileSync(home.file(), `${JSON.stringify(entry)}\n`, { flag: "a" });
    for (const query of ["half edit", "other/half", "12345"])
      expect(await foundBoth(home, parseSearchQuery(query))).toHaveLength(1);
    expect(await foundBoth(home, { terms: ["halfedit"] })).toEqual([]);
  });

  test("a term of more than 1,000 characters, by its beginning", async () => {
    const home = new RecordedHome();
    const term = "needle ".repeat(200).trim();
    home.write("one", term, term.slice(0, 900));
    expect(await foundBoth(home, { terms: [`${term} and more`] })).toHaveLength(1);
  });

  test("a text too long to be indexed", async () => {
    const home = new RecordedHome();
    home.write("one", `${"far ".repeat(100_000)}needle`, "needle");
    expect(await foundBoth(home, parseSearchQuery("needle"))).toHaveLength(2);
  });
});

test("ranks frequent terms and short entries first, then newer entries", async () => {
  const home = new RecordedHome();
  home.write("one", "a needle here", `needle ${"hay ".repeat(2000)}`, "needle needle", "a needle there");
  const search = home.search();
  await search.catchUp();
  const { hits, more } = await search.find({ terms: ["needle"] }, { limit: 3 });
  expect(hits.map(({ snippet }) => snippet)).toEqual(["needle needle", "a needle there", "a needle here"]);
  expect(hits[0]).toMatchObject({
    file: home.file(),
    type: "message",
    role: "user",
    timeMs: expect.any(Number),
  });
  expect(more).toBe(true);
});

const words = fc.constantFrom(
  "line",
  "edited",
  "said in",
  "sum",
  "ine 1",
  "2",
  "in",
  "x",
  "東",
  "said edited",
);

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
      const parsed = parseSearchQuery(query);
      const scanned = await home.search({ index: false }).find(parsed, all);
      expect(await index.find(parsed, all)).toEqual(scanned);
      await index.catchUp();
      expect(await index.find(parsed, all)).toEqual(scanned);
      const session = openSession(home.file(), { onNotice: () => {} });
      const known = new Set((await foundInSession(session, query)).map(({ entryId }) => entryId));
      const literal = await index.find({ terms: [query] }, { ...all, scope: { file: home.file() } });
      expect(new Set(literal.hits.map(({ entryId }) => entryId))).toEqual(known);
      session.close();
    }),
  );
});

test("law: every part of a text finds the text", async () => {
  const text = fc.oneof(fc.string({ unit: "grapheme", minLength: 1 }), fc.string({ minLength: 1 }));
  const part = fc.record({ text, from: fc.nat(), length: fc.nat() });
  await fc.assert(
    fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 20 }), async (parts) => {
      const home = new RecordedHome();
      home.write("one", ...parts.map((each) => each.text));
      const index = home.search();
      await index.catchUp();
      for (const { text, from, length } of parts) {
        const start = from % text.length;
        const term = text.slice(start, start + 1 + (length % (text.length - start)));
        const { hits } = await index.find({ terms: [term] }, all);
        expect(hits.length).toBeGreaterThan(0);
        expect(hits).toEqual((await home.search({ index: false }).find({ terms: [term] }, all)).hits);
      }
    }),
  );
});

/** Quadratic time exceeds this limit. Linear time needs a tenth of it. */
const LIMIT = { timeout: process.env.LAW_RUNS ? 120_000 : 20_000 };

test("Invariant: time is linear in any text and any query", LIMIT, async () => {
  const home = new RecordedHome();
  const texts = adversarialTexts().map(([, text]) => text);
  for (const [at, text] of texts.entries()) home.write(`${at}`, text);
  const search = home.search();
  await search.catchUp();
  for (const [at, text] of texts.entries())
    for (const query of [{ terms: [`${text.slice(0, text.length / 2)}no`] }, parseSearchQuery(text)])
      await search.find(query, { scope: { file: home.file(`${at}`) } });
  expect(await snippets(search, "\u0001x")).toHaveLength(texts.length);
});
