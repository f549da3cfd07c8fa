import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { sampleLines, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

test("bonsai search finds entries on all branches, best first", async () => {
  const file = writeLines(sampleLines());
  const hits = await jsonOf<{ entryId: string; onActivePath: boolean }[]>(["search", "CACHE", "--in", file]);
  expect(hits.map((hit) => [hit.entryId, hit.onActivePath])).toEqual([
    ["bbbb0001", false],
    ["bbbb0002", false],
    ["cccc0001", true],
  ]);
  const { stdout } = await runCli(["search", "--in", file, "cache", "--limit", "2"], { columns: 60 });
  await expect(stdout).toMatchFileSnapshot("golden/search-60.txt");
});

test("bonsai search reads the query as a regular expression only when asked to", async () => {
  const file = writeLines(sampleLines());
  expect(await jsonOf(["search", "--in", file, "t[o]tals"])).not.toEqual([]);
  expect(await jsonOf(["search", "--in", file, "t[o]tals", "--regex"])).toMatchObject([
    { entryId: "aaaa0001" },
    { entryId: "cccc0005" },
  ]);
  expect((await runCli(["search", "--in", file, "(", "--regex"])).code).toBe(1);
  expect((await runCli(["search", "--in", file, "unicorn zebra"])).stdout).toBe(
    'No matches for "unicorn zebra".\n',
  );
});

test("a search of a damaged session warns about the damage", async () => {
  const file = writeLines(sampleLines());
  writeFileSync(file, readFileSync(file, "utf8").replace(/\n(?=[^\n]*\n$)/, "\ngarbage\n"));
  const { stdout, stderr } = await runCli(["search", "cache", "--in", file]);
  expect([stdout.includes("3 hits"), stderr.replaceAll(/\s+/g, " ")]).toEqual([
    true,
    expect.stringContaining("1 line of the session file is damaged."),
  ]);
});

/** A session with a text on which `(a+)+$` tries more ways than there is time for. */
function slowSession(): string {
  const lines = sampleLines() as { message?: { role?: string; content?: unknown } }[];
  const first = lines.find(({ message }) => message?.role === "user")!;
  first.message!.content = `${"a".repeat(60)}b`;
  return writeLines(lines);
}

test("an expression that is too slow ends with an error", async () => {
  const { code, stderr } = await runCli(["search", "--in", slowSession(), "(a+)+$", "--regex", "--json"]);
  expect([code, JSON.parse(stderr).error.code]).toEqual([1, "expression_too_slow"]);
});

test("a signal ends a slow expression", async () => {
  const abort = new AbortController();
  setTimeout(() => abort.abort(new Error("Interrupted by Ctrl-C")), 0);
  const { signal } = abort;
  const { code, stdout } = await runCli(["search", "--in", slowSession(), "(a+)+$", "--regex"], { signal });
  expect([code, stdout]).toEqual([130, ""]);
});
