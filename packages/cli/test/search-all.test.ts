import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SessionHit } from "@bonsai-agent/session/search";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { sampleLines, testFolder } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

const id = "3f2a9c01-0000-4000-8000-000000000001";

/** A home folder with a recorded session. */
function home(settings: object = {}): string {
  const path = testFolder();
  mkdirSync(join(path, "sessions/-p"), { recursive: true });
  const lines = sampleLines().map((line) => `${JSON.stringify(line)}\n`);
  writeFileSync(join(path, `sessions/-p/2026-01-05T09-00-00-000Z_${id}.jsonl`), lines.join(""));
  writeFileSync(join(path, "settings.json"), JSON.stringify(settings));
  return path;
}

const hitsOf = (path: string, ...args: string[]) =>
  jsonOf<SessionHit[]>(["search", ...args], { env: { BONSAI_HOME: path } });

test("bonsai search finds entries of all sessions, by the index as without it", async () => {
  const path = home();
  const hits = await hitsOf(path, "CACHE");
  expect(hits.map(({ entryId }) => entryId).sort()).toEqual(["bbbb0001", "bbbb0002", "cccc0001"]);
  expect(readdirSync(join(path, "index"))).toHaveLength(1);
  expect(await hitsOf(path, "CACHE")).toEqual(hits);
  rmSync(join(path, "index"), { recursive: true });
  const off = home({ index: { enabled: false } });
  expect((await hitsOf(off, "CACHE")).map((hit) => hit.snippet)).toEqual(hits.map((hit) => hit.snippet));
  expect(readdirSync(off)).not.toContain("index");
});

test("a session file before the words is an error that names --in", async () => {
  const cwd = testFolder();
  writeFileSync(
    join(cwd, "old.jsonl"),
    sampleLines()
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(""),
  );
  const { code, stderr } = await runCli(["search", "old.jsonl", "cache"], { cwd });
  expect(code).toBe(2);
  expect(stderr).toContain("bonsai search cache --in old.jsonl");
});

test("the table has session, entry, kind and text, and the limit cuts it", async () => {
  const options = { env: { BONSAI_HOME: home() }, columns: 70 };
  const { stdout } = await runCli(["search", "cache", "-n", "2"], options);
  expect(stdout).toContain("3f2a9c01");
  expect(stdout).toContain("2 hits  There are more: raise --limit.");
  expect((await runCli(["search", "unicorn", "zebra"], options)).stdout).toBe(
    'No matches for "unicorn zebra".\n',
  );
});

test("a quoted argument is several words, and an entry may lack one of them", async () => {
  const path = home();
  const ids = async (...query: string[]) => (await hitsOf(path, ...query)).map(({ entryId }) => entryId);
  const found = await ids("compute unicorn");
  expect(found).toContain("cccc0002");
  expect(found).toEqual(await ids("compute", "unicorn"));
  expect(await ids('compute "unicorn it"')).toEqual([]);
});

test("an expression searches all sessions", async () => {
  expect((await hitsOf(home(), "comp[u]te it", "--regex")).map(({ entryId }) => entryId)).toEqual([
    "cccc0002",
  ]);
});

test("only sessions of a folder", async () => {
  expect(await hitsOf(home(), "cache", "--cwd", "/nowhere")).toEqual([]);
});

test("an unwritable index causes a notice beside the hits", async () => {
  const path = home();
  writeFileSync(join(path, "index"), "");
  const { stdout, stderr, code } = await runCli(["search", "cache"], { env: { BONSAI_HOME: path } });
  expect([code, stdout.includes("3 hits")]).toEqual([0, true]);
  expect(stderr.replaceAll(/\s+/g, " ")).toMatch(
    /Cannot use the full-text index in \S+index .*Searching the session files instead/,
  );
});

test("a wrong combination or value is a usage error", () =>
  everyRow([
    [["search"], "query"],
    [["search", "cache", "--in", "x.jsonl", "--cwd", "."], "--cwd"],
  ])(async ([args, words]) => {
    const { code, stderr } = await runCli(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
  }));
