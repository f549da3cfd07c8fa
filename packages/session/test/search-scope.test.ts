import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createSession, openSession, type Session } from "../src/index.ts";
import type { PlacedEntry, SessionSearch } from "../src/search/index.ts";
import type { SearchScope } from "../src/search/session-search.ts";
import { RecordedHome } from "./recorded-home.ts";

const all = { limit: Number.POSITIVE_INFINITY };

describe("a search covers", () => {
  async function twoFolders(): Promise<{ home: RecordedHome; search: SessionSearch }> {
    const home = new RecordedHome();
    home.write("one", "needle one");
    home.write("two", "needle two");
    const other = join(home.path, "sessions/-q/three.jsonl");
    mkdirSync(dirname(other));
    home.write("three", "needle three");
    renameSync(home.file("three"), other);
    const search = home.search();
    await search.catchUp();
    return { home, search };
  }

  test("all sessions, those of a folder, or one session", async () => {
    const { home, search } = await twoFolders();
    const found = async (scope: SearchScope) =>
      (await search.find("needle", { scope })).hits.map(({ snippet }) => snippet).sort();
    expect(await found({})).toEqual(["needle one", "needle three", "needle two"]);
    expect(await found({ cwd: "/p" })).toEqual(["needle one", "needle two"]);
    expect(await found({ sources: [{ file: home.file("two") }] })).toEqual(["needle two"]);
    expect(await found({ cwd: "/nowhere" })).toEqual([]);
  });

  test("an open session, with a file or in memory", async () => {
    const { home, search } = await twoFolders();
    const inMemory = createSession({ cwd: "/p" });
    const said = (content: string) =>
      inMemory.append({ type: "message", message: { role: "user", content, timestamp: 0 } });
    const [, second] = ["needle in memory", "another needle", "straw"].map(said);
    const find = async (session: Session) => (await search.find("needle", { scope: { session } })).hits;
    expect(await find(inMemory)).toMatchObject([
      { file: "", entryId: second!.id, role: "user", snippet: "another needle" },
      { snippet: "needle in memory" },
    ]);
    const recorded = openSession(home.file("two"));
    expect(await find(recorded)).toMatchObject([{ file: home.file("two"), snippet: "needle two" }]);
    recorded.close();
  });

  test("the restored copy of a session instead of its damaged original", async () => {
    const home = new RecordedHome();
    home.write("cut", "the needle");
    home.write("cut.restored", "the needle", "a second needle");
    home.write("emptied.restored", "the needle of an empty file");
    writeFileSync(home.file("emptied"), "");
    home.write("other.restored", "the needle of a replaced file");
    home.write("replacement", "a needle in another session");
    renameSync(home.file("replacement"), home.file("other"));
    for (const options of [{}, { index: false }]) {
      const search = home.search(options);
      await search.catchUp();
      const { hits, unread } = await search.find("needle", all);
      expect(unread).toEqual([]);
      expect(hits.map(({ file, snippet }) => [basename(file, ".jsonl"), snippet]).sort()).toEqual([
        ["cut.restored", "a second needle"],
        ["cut.restored", "the needle"],
        ["emptied.restored", "the needle of an empty file"],
        ["other", "a needle in another session"],
        ["other.restored", "the needle of a replaced file"],
      ]);
    }
    const { hits } = await home.search().find("needle", { scope: { sources: [{ file: home.file("cut") }] } });
    expect(hits.map(({ file }) => file)).toEqual([home.file("cut")]);
  });

  test("a file outside the home folder, and names a file that cannot be read", async () => {
    const { home, search } = await twoFolders();
    const notOne = home.file("not-one");
    writeFileSync(notOne, "some needle\n");
    expect(await search.find("needle")).toMatchObject({ unread: [notOne] });
    const outside = join(home.path, "outside.jsonl");
    renameSync(home.file("one"), outside);
    expect((await search.find("needle", { scope: { sources: [{ file: outside }] } })).hits).toHaveLength(1);
  });
});

const links = [
  ["a folder", (file: string, home: RecordedHome) => symlinkSync(home.path, file)],
  ["a device", (file: string) => symlinkSync("/dev/null", file)],
  ["nothing", (file: string, home: RecordedHome) => symlinkSync(`${home.path}/gone`, file)],
] as const;

test("reports a link that leads to no session as unread, and searches the other files", async () => {
  for (const [name, link] of links) {
    const home = new RecordedHome();
    home.write("one", "a needle");
    const notOne = home.file("not-one");
    link(notOne, home);
    for (const index of [true, false]) {
      const search = home.search({ index });
      await search.catchUp();
      const { hits, unread } = await search.find("needle");
      expect.soft([hits.map(({ file }) => file), unread], name).toEqual([[home.file()], [notOne]]);
    }
    expect.soft(home.notices, name).toEqual([]);
  }
});

test("limits the hits of each session", async () => {
  const home = new RecordedHome();
  home.write("one", "needle", "needle 2", "needle 3");
  home.write("two", "needle 4");
  const search = home.search();
  await search.catchUp();
  const { hits } = await search.find("needle", { perSession: 1 });
  expect(hits.map(({ file }) => file).sort()).toEqual([home.file("one"), home.file("two")]);
});

/** Reads entries from lines of `id<tab>text`. */
function* readLines(file: string, from: number): Iterable<PlacedEntry> {
  let offset = from;
  for (const line of readFileSync(file).subarray(from).toString().split("\n").slice(0, -1)) {
    const lengthBytes = Buffer.byteLength(line) + 1;
    const [id, content] = line.split("\t") as [string, string];
    const message = { role: "user", content, timestamp: 0 } as const;
    yield { entry: { type: "message", id, parentId: null, timestamp: "", message }, offset, lengthBytes };
    offset += lengthBytes;
  }
}

test("follows a file in another format beside session files, with the caller's reader", async () => {
  const home = new RecordedHome();
  home.write("one", "a needle");
  const file = join(home.path, "lines.txt");
  writeFileSync(file, "a1\tneedle, the first\na2\tstraw\na3\tneedle, the third\na4\tneedle, the four");
  const scope = { sources: [{ file, read: readLines }, { file: home.file() }] };
  const search = home.search();
  const found = async () =>
    (await search.find("needle", { scope })).hits.map(({ entryId, snippet }) => [entryId, snippet]).sort();
  const own = [expect.any(String), "a needle"];
  const lines = [
    ["a1", "needle, the first"],
    ["a3", "needle, the third"],
  ];
  expect(await found()).toEqual([...lines, own]);
  writeFileSync(file, "th\na5\tneedle, the fifth\n", { flag: "a" });
  lines.push(["a4", "needle, the fourth"], ["a5", "needle, the fifth"]);
  expect(await found()).toEqual([...lines, own]);
  await search.catchUp();
  expect(await search.find("fifth")).toMatchObject({ hits: [] });
  const outside = { scope, limit: 1 };
  expect((await home.search({ index: false }).find("fifth", outside)).hits).toMatchObject([
    { entryId: "a5" },
  ]);
});

/** Reads entries of a file that is one JSON list of texts. */
function* readList(file: string, from: number): Iterable<PlacedEntry> {
  if (from > 0) return;
  const bytes = readFileSync(file);
  for (const [at, content] of (JSON.parse(bytes.toString()) as string[]).entries()) {
    const message = { role: "user", content, timestamp: 0 } as const;
    const entry = { type: "message", id: `${at}`, parentId: null, timestamp: "", message } as const;
    yield { entry, offset: 0, lengthBytes: bytes.length };
  }
}

test("indexes a file again that its program rewrites as a whole", async () => {
  const home = new RecordedHome();
  const file = join(home.path, "list.json");
  const texts = Array.from({ length: 200 }, (_, at) => `needle ${at} ${"hay ".repeat(200)}`);
  const search = home.search();
  const scope = { sources: [{ file, read: readList }] };
  for (const count of [150, 200]) {
    writeFileSync(file, JSON.stringify(texts.slice(0, count)));
    const { hits } = await search.find("needle", { scope, limit: 1000 });
    expect(hits).toHaveLength(count);
    expect(hits.find(({ entryId }) => entryId === "140")?.snippet).toContain("needle 140 ");
  }
});
