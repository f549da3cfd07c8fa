import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { matchFiles, matchManyFiles } from "../../src/interactive/prompt/match-files.ts";
import { ProjectFiles } from "../../src/interactive/prompt/project-files.ts";

const paths = (...list: string[]) => list.map((path) => ({ path, isFolder: path.endsWith("/") }));
const never = new AbortController().signal;

test("a name before a folder, a beginning before a middle, a shorter path before a longer", () => {
  const files = paths(
    "edit/other.ts",
    "src/the-editor.ts",
    "src/deep/edit.ts",
    "src/edit.ts",
    "e-d-i-t.md",
    "no.txt",
  );
  expect(matchFiles(files, "edit").map(({ path }) => path)).toEqual([
    "src/edit.ts",
    "src/deep/edit.ts",
    "src/the-editor.ts",
    "edit/other.ts",
    "e-d-i-t.md",
  ]);
});

test("without a query, what stands in the folder itself", () => {
  expect(matchFiles(paths("a.ts", "src/", "src/b.ts"), "").map(({ path }) => path)).toEqual(["a.ts", "src/"]);
});

test("Law: whatever matches has the query's letters in their order, and at most thirty match", () => {
  const word = fc.stringMatching(/^[a-c/]{1,8}$/);
  fc.assert(
    fc.property(fc.array(word, { maxLength: 60 }), fc.stringMatching(/^[a-c]{1,3}$/), (list, query) => {
      const found = matchFiles(paths(...list), query);
      expect(found.length).toBeLessThanOrEqual(30);
      const inOrder = new RegExp([...query].join(".*"));
      for (const { path } of found) expect(path).toMatch(inOrder);
    }),
  );
});

test("many files are matched as few are, and given up when nobody waits", async () => {
  const many = paths(...Array.from({ length: 9_000 }, (_, at) => `src/${at % 7}/file-${at}.ts`));
  for (const query of ["", "file-89", "s3f", "none"])
    expect(await matchManyFiles(many, { query, signal: never })).toEqual(matchFiles(many, query));
  expect(await matchManyFiles(many, { query: "f", signal: AbortSignal.abort() })).toEqual([]);
});

test("what is ignored is not listed, in folders neither", async () => {
  const folder = project({
    ".gitignore": "*.log\n/dist\n",
    "src/.gitignore": "secret*\n",
    "src/a.ts": "",
    "src/secret.ts": "",
    "dist/out.js": "",
    "run.log": "",
    ".git/config": "",
  });
  const files = await new ProjectFiles(folder).list(never);
  expect(files.map(({ path }) => path)).toEqual([".gitignore", "src/", "src/.gitignore", "src/a.ts"]);
});

test("who gives up does not wait, and the next gets the whole list", async () => {
  const files = new ProjectFiles(project({ "a.ts": "", "b/c.ts": "" }));
  const gone = new AbortController();
  const first = files.list(gone.signal);
  gone.abort();
  await first;
  expect((await files.list(never)).map(({ path }) => path)).toEqual(["a.ts", "b/", "b/c.ts"]);
});

test("who needs the whole list gets it, also where another gave up", async () => {
  const files = new ProjectFiles(project({ "a.ts": "", "b/c.ts": "" }));
  expect(await files.list(AbortSignal.abort())).toEqual([]);
  expect(await files.whole(AbortSignal.abort())).toEqual([]);
  expect((await files.whole(never)).map(({ path }) => path)).toEqual(["a.ts", "b/", "b/c.ts"]);
});

test("a folder that is not there has no files", async () => {
  expect(await new ProjectFiles(join(tmpdir(), "no-such-folder-of-bonsai")).list(never)).toEqual([]);
});

function project(files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-files-"));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}
