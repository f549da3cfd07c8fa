import { mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createSession, openSession, type Session } from "../src/index.ts";
import type { SessionSearch } from "../src/search/index.ts";
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
    const found = async (scope: { file?: string; cwd?: string }) =>
      (await search.find("needle", { scope })).hits.map(({ snippet }) => snippet).sort();
    expect(await found({})).toEqual(["needle one", "needle three", "needle two"]);
    expect(await found({ cwd: "/p" })).toEqual(["needle one", "needle two"]);
    expect(await found({ file: home.file("two") })).toEqual(["needle two"]);
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
    const { hits } = await home.search().find("needle", { scope: { file: home.file("cut") } });
    expect(hits.map(({ file }) => file)).toEqual([home.file("cut")]);
  });

  test("a file outside the home folder, and names a file that cannot be read", async () => {
    const { home, search } = await twoFolders();
    const notOne = home.file("not-one");
    writeFileSync(notOne, "some needle\n");
    expect(await search.find("needle")).toMatchObject({ unread: [notOne] });
    const outside = join(home.path, "outside.jsonl");
    renameSync(home.file("one"), outside);
    expect((await search.find("needle", { scope: { file: outside } })).hits).toHaveLength(1);
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
