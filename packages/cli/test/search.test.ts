import { expect, test } from "vitest";
import { jsonOf, runCli } from "./run-cli.ts";
import { sampleLines, writeLines } from "./sample-session.ts";

test("bonsai search finds entries on all branches, in file order", async () => {
  const file = writeLines(sampleLines());
  const hits = await jsonOf<{ entryId: string; onActivePath: boolean }[]>(["search", file, "CACHE"]);
  expect(hits.map((hit) => [hit.entryId, hit.onActivePath])).toEqual([
    ["bbbb0001", false],
    ["bbbb0002", false],
    ["cccc0001", true],
  ]);
  const { stdout } = await runCli(["search", file, "cache", "--limit", "2"], { columns: 60 });
  await expect(stdout).toMatchFileSnapshot("golden/search-60.txt");
});

test("bonsai search reads the query as a regular expression only when asked to", async () => {
  const file = writeLines(sampleLines());
  expect(await jsonOf(["search", file, "total[s]"])).toEqual([]);
  expect(await jsonOf<unknown[]>(["search", file, "total[s]", "--regex"])).not.toEqual([]);
  expect((await runCli(["search", file, "(", "--regex"])).code).toBe(1);
  expect((await runCli(["search", file, "nothing like it"])).stdout).toBe(
    'Nothing matches "nothing like it".\n',
  );
});
