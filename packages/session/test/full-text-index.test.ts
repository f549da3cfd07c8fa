import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { childSession } from "./child-session.ts";
import { RecordedHome, snippets } from "./recorded-home.ts";

/** How many entries the index has. */
function indexed(home: RecordedHome): number {
  const database = new DatabaseSync(home.indexFiles()[0]!, { readOnly: true });
  try {
    return database.prepare("SELECT count(*) AS count FROM entry").get()!.count as number;
  } finally {
    database.close();
  }
}

describe("the database", () => {
  const damages: readonly (readonly [string, (home: RecordedHome, file: string) => void])[] = [
    ["deleted", (_, file) => rmSync(file)],
    ["deleted with its folder", (home) => rmSync(join(home.path, "index"), { recursive: true })],
    ["emptied", (_, file) => truncateSync(file, 0)],
    ["cut off", (_, file) => truncateSync(file, 5000)],
    [
      "random bytes",
      (_, file) =>
        writeFileSync(file, Buffer.from(Array.from({ length: 9000 }, (_, at) => (at * 7919) % 251))),
    ],
    ["zeros behind its head", (_, file) => writeFileSync(file, zeroed(readFileSync(file)))],
    ["without a table", (_, file) => change(file, "DROP TABLE entry")],
  ];

  test("finds every entry of a damaged index, and builds the index again", async () => {
    for (const [name, damage] of damages) {
      const home = new RecordedHome();
      home.write("one", ...Array.from({ length: 50 }, (_, at) => `needle ${at}`));
      await home.search().catchUp();
      damage(home, home.indexFiles()[0]!);
      const search = home.search();
      expect.soft(await snippets(search, "needle"), name).toHaveLength(50);
      expect.soft(await search.catchUp(), name).toBe("complete");
      expect.soft(await snippets(search, "needle"), name).toHaveLength(50);
      expect.soft(indexed(home), name).toBe(50);
      expect.soft(home.notices, name).toEqual([]);
    }
  });

  test("finds every entry of an index damaged while it is open, and builds the index again", async () => {
    for (const [name, damage] of damages) {
      const home = new RecordedHome();
      home.write("one", ...Array.from({ length: 50 }, (_, at) => `needle ${at}`));
      const search = home.search();
      await search.catchUp();
      damage(home, home.indexFiles()[0]!);
      expect.soft(await snippets(search, "needle"), name).toHaveLength(50);
      home.append("one", "needle and more");
      expect.soft(await search.catchUp(), name).toBe("complete");
      expect.soft(await snippets(search, "needle"), name).toHaveLength(51);
      expect.soft(indexed(home), name).toBe(51);
      expect.soft(home.notices, name).toEqual([]);
    }
  });

  test("builds the index again after it was deleted during a catch-up", async () => {
    const home = new RecordedHome();
    home.write("one", ...Array.from({ length: 300 }, (_, at) => `needle ${at} ${"hay ".repeat(2000)}`));
    const search = home.search();
    const working = search.catchUp();
    await search.catchUp({ scope: { sources: [{ file: home.file("none") }] }, budgetMs: 0 }).catch(() => {});
    rmSync(join(home.path, "index"), { recursive: true });
    await working;
    await search.catchUp();
    expect(indexed(home)).toBe(300);
    expect(await snippets(search, "needle")).toHaveLength(300);
  });

  test("waits for another process that holds the index, then reads the files", async () => {
    const home = new RecordedHome();
    home.write("one", "needle");
    await home.search().catchUp();
    const other = new DatabaseSync(home.indexFiles()[0]!);
    other.exec("BEGIN EXCLUSIVE");
    const search = home.search();
    expect(await snippets(search, "needle")).toEqual(["needle"]);
    expect(await search.catchUp({ budgetMs: 0 })).toBe("partial");
    const waiting = search.catchUp();
    other.close();
    expect(await waiting).toBe("complete");
    expect(home.notices).toEqual([]);
  });

  test("keeps one private file, and makes a public one private", async () => {
    const home = new RecordedHome();
    home.write("one", "needle");
    const modes = () => home.indexFiles().map((file) => statSync(file).mode & 0o777);
    await home.search().catchUp();
    expect(modes()).toEqual([0o600]);
    expect(statSync(join(home.path, "index")).mode & 0o777).toBe(0o700);
    chmodSync(home.indexFiles()[0]!, 0o644);
    chmodSync(join(home.path, "index"), 0o755);
    await home.search().catchUp();
    expect(modes()).toEqual([0o600]);
    expect(statSync(join(home.path, "index")).mode & 0o777).toBe(0o700);
  });

  test("leaves a folder in place of the index alone, and reads the files", async () => {
    const home = new RecordedHome();
    home.write("one", "needle");
    const folder = join(home.path, "index/search-5.db/in it");
    mkdirSync(folder, { recursive: true });
    const search = home.search();
    expect(await search.catchUp()).toBe("unavailable");
    expect(await snippets(search, "needle")).toEqual(["needle"]);
    expect(existsSync(folder)).toBe(true);
    expect(home.notices).toEqual(["index_unavailable"]);
  });

  test.runIf(process.getuid?.() === 0)(
    "reads the files if the index belongs to another user, and notifies once",
    async () => {
      const home = new RecordedHome();
      home.write("one", "needle 1");
      await home.search().catchUp();
      home.append("one", "needle 2");
      const seen = await childSession(["search", home.path, "needle", "as nobody"]);
      expect(seen).toEqual({ state: "unavailable", hits: 2, notices: ["index_unavailable"] });
    },
  );

  test("leaves the index of another version alone", async () => {
    const home = new RecordedHome();
    home.write("one", "needle");
    mkdirSync(join(home.path, "index"));
    const other = join(home.path, "index/search-99.db");
    writeFileSync(other, "of the future");
    expect(await home.search().catchUp()).toBe("complete");
    expect(readFileSync(other, "utf8")).toBe("of the future");
  });

  test("makes no index when it is off", async () => {
    const home = new RecordedHome();
    home.write("one", "needle");
    const search = home.search({ index: false });
    expect(await search.catchUp()).toBe("unavailable");
    expect(await snippets(search, "needle")).toEqual(["needle"]);
    expect(existsSync(join(home.path, "index"))).toBe(false);
    expect(home.notices).toEqual([]);
  });

  test("reads the files if the index cannot be made, and notifies once", async () => {
    const home = new RecordedHome();
    home.write("one", "needle");
    writeFileSync(join(home.path, "index"), "a file");
    const search = home.search();
    expect(await search.catchUp()).toBe("unavailable");
    expect(await snippets(search, "needle")).toEqual(["needle"]);
    expect(home.notices).toEqual(["index_unavailable"]);
  });

  test("reads the files if the disk is full, and notifies once", async () => {
    const home = new RecordedHome();
    home.write("one", ...Array.from({ length: 200 }, (_, at) => `needle ${at} ${ofManyCharacters(at)}`));
    const seen = await childSession(["search", home.path, "needle"], { limitKib: 90 });
    expect(seen).toEqual({ state: "unavailable", hits: 200, notices: ["index_unavailable"] });
    expect(await childSession(["search", home.path, "needle"])).toEqual({
      state: "complete",
      hits: 200,
      notices: [],
    });
  });
});

function ofManyCharacters(seed: number): string {
  return String.fromCharCode(
    ...Array.from({ length: 500 }, (_, at) => 0x4e00 + (((at + 1) * 7919 + seed * 104_729) % 20_000)),
  );
}

function zeroed(bytes: Buffer): Buffer {
  return bytes.fill(0, 8192);
}

function change(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}
