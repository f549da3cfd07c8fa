import {
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { RecordedHome, snippets } from "./recorded-home.ts";

describe("catching up", () => {
  test("a search indexes the entries of another process first", async () => {
    const home = new RecordedHome();
    home.write("one", "needle 1");
    const search = home.search();
    await search.catchUp();
    home.append("one", "needle 2");
    expect(await snippets(search, "needle")).toEqual(["needle 1", "needle 2"]);
    await search.catchUp();
    expect(indexed(home)).toBe(2);
    home.write("two", "needle 3");
    expect(await snippets(search, "needle")).toEqual(["needle 1", "needle 2", "needle 3"]);
    await search.catchUp();
    expect(indexed(home)).toBe(3);
  });

  test("indexes a line once it is whole, with or without its newline", async () => {
    const home = new RecordedHome();
    home.write("one", "needle 1");
    const search = home.search();
    const line = home.line("needle 2");
    writeFileSync(home.file(), line.slice(0, -20), { flag: "a" });
    expect(await search.catchUp()).toBe("complete");
    expect(await snippets(search, "needle")).toEqual(["needle 1"]);
    writeFileSync(home.file(), line.slice(-20), { flag: "a" });
    expect(await snippets(search, "needle")).toEqual(["needle 1", "needle 2"]);
    writeFileSync(home.file(), `\n${home.line("needle 3")}`, { flag: "a" });
    expect(await snippets(search, "needle")).toEqual(["needle 1", "needle 2", "needle 3"]);
    expect(indexed(home)).toBe(3);
  });

  test("finds the entries of a damaged line before and after it is indexed", async () => {
    const home = new RecordedHome();
    home.write("one", "needle 1");
    const [second, third] = ["needle 2", "needle 3"].map((text) => home.line(text).trimEnd());
    writeFileSync(home.file(), `${second!.slice(0, 50)}${second}${third}\n${home.line("needle 4")}`, {
      flag: "a",
    });
    const search = home.search();
    const all = ["needle 1", "needle 2", "needle 3", "needle 4"];
    expect(await snippets(search, "needle")).toEqual(all);
    await search.catchUp();
    expect(await snippets(search, "needle")).toEqual(all);
  });

  test("stops when its time is over, and continues at the next call", async () => {
    const home = new RecordedHome();
    home.write("one", ...Array.from({ length: 400 }, (_, at) => `needle ${at} ${"hay ".repeat(2000)}`));
    const search = home.search();
    expect(await search.catchUp({ budgetMs: 0 })).toBe("partial");
    expect(await search.catchUp({ signal: AbortSignal.abort() })).toBe("partial");
    expect(await search.find("needle", { budgetMs: 0 })).toMatchObject({ files: 1, unindexed: 1 });
    const both = [search.catchUp(), search.catchUp()];
    expect(await snippets(search, "needle")).toHaveLength(400);
    expect(await Promise.all(both)).toEqual(["complete", "complete"]);
    expect(indexed(home)).toBe(400);
  });

  const changes: [string, (home: RecordedHome) => void][] = [
    [
      "cut off",
      (home) => truncateSync(home.file(), readFileSync(home.file(), "utf8").lastIndexOf('{"type"')),
    ],
    ["replaced by a shorter one", (home) => home.write("one", "needle x")],
    [
      "replaced by a longer one",
      (home) =>
        home.write("one", "straw", "another", ...Array.from({ length: 40 }, (_, at) => `needle ${at}`)),
    ],
    ["renamed over by another", renamedOver],
    ["overwritten in its place", overwritten],
    ["deleted", (home) => rmSync(home.file())],
  ];
  test("indexes a changed file again", async () => {
    for (const [name, change] of changes) {
      const home = new RecordedHome();
      home.write("one", "needle 1", "needle 2", "needle 3");
      const search = home.search();
      await search.catchUp();
      change(home);
      const expected = await snippets(home.search({ index: false }), "needle");
      expect.soft(await snippets(search, "needle"), name).toEqual(expected);
      expect.soft(await search.catchUp(), name).toBe("complete");
      expect.soft(await snippets(search, "needle"), name).toEqual(expected);
      const session = existsSync(home.file())
        ? readFileSync(home.file(), "utf8").trim().split("\n")
        : ["header"];
      expect.soft(indexed(home), name).toBe(session.length - 1);
    }
  });
});

test("indexes a file again that was rewritten in its middle while it grew", async () => {
  const home = new RecordedHome();
  home.write("one", ...Array.from({ length: 300 }, (_, at) => `needle ${at} ${"hay ".repeat(200)}`));
  const search = home.search();
  await search.catchUp();
  const text = readFileSync(home.file(), "utf8").replace("needle 120 ", "straws 120 ");
  writeFileSync(home.file(), `${text}${home.line("needle 300")}\n`);
  expect(await snippets(search, "straws")).toHaveLength(1);
  expect(await snippets(search, "needle")).toHaveLength(300);
});

function renamedOver(home: RecordedHome): void {
  home.write("two", "needle 4", "needle 5", "needle 6");
  renameSync(home.file("two"), home.file());
}

function overwritten(home: RecordedHome): void {
  const text = readFileSync(home.file(), "utf8");
  writeFileSync(home.file(), text.replace("needle 2", "straws 2"));
  utimesSync(home.file(), 1, 1);
}

/** How many entries the index has. */
function indexed(home: RecordedHome): number {
  const database = new DatabaseSync(home.indexFiles()[0]!, { readOnly: true });
  try {
    return database.prepare("SELECT count(*) AS count FROM entry").get()!.count as number;
  } finally {
    database.close();
  }
}
