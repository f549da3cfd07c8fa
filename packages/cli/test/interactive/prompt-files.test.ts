import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { matchFiles, ProjectFiles } from "../../src/interactive/prompt/project-files.ts";

const paths = (...list: string[]) => list.map((path) => ({ path, isFolder: path.endsWith("/") }));
const never = new AbortController().signal;

// Wait for the list: on a busy machine, it may take longer than a completion waits.
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout"] }));
afterEach(() => void vi.useRealTimers());

async function found(query: string, ...list: string[]): Promise<string[]> {
  return (await matchFiles(paths(...list), { query, signal: never })).map(({ path }) => path);
}

test("a name before a folder, a beginning before a middle, a shorter path before a longer", async () => {
  const files = [
    "edit/other.ts",
    "src/the-editor.ts",
    "src/deep/edit.ts",
    "src/edit.ts",
    "e-d-i-t.md",
    "no.txt",
  ];
  expect(await found("edit", ...files)).toEqual([
    "src/edit.ts",
    "src/deep/edit.ts",
    "src/the-editor.ts",
    "edit/other.ts",
    "e-d-i-t.md",
  ]);
});

test("an empty query lists the folder itself", async () => {
  expect(await found("", "a.ts", "src/", "src/b.ts")).toEqual(["a.ts", "src/"]);
});

test("Law: matches have the query's letters in order, at most thirty", async () => {
  const word = fc.stringMatching(/^[a-c/]{1,8}$/);
  const queries = fc.stringMatching(/^[a-c]{1,3}$/);
  await fc.assert(
    fc.asyncProperty(fc.array(word, { maxLength: 60 }), queries, async (list, query) => {
      const matching = await found(query, ...list);
      expect(matching.length).toBeLessThanOrEqual(30);
      const inOrder = new RegExp([...query].join(".*"));
      for (const path of matching) expect(path).toMatch(inOrder);
    }),
  );
});

test("many files are matched as few are, and given up when nobody waits", async () => {
  const many = Array.from({ length: 9_000 }, (_, at) => `src/${at % 7}/file-${at}.ts`);
  expect(await found("none", ...many)).toEqual([]);
  expect(await found("file-8999", ...many)).toEqual(["src/4/file-8999.ts"]);
  const few = ["src/file-x.ts", "src/deep/file-x.ts", "file-x/one.ts", "f-i-l-e-x.ts"];
  for (const at of [0, 4_500, 9_000])
    expect(await found("file-x", ...many.toSpliced(at, 0, ...few.toReversed()))).toEqual(few);
  expect(await found("fil", ...many)).toEqual(await found("fil", ...many.slice(0, 100)));
  expect(await matchFiles(paths(...many), { query: "f", signal: AbortSignal.abort() })).toEqual([]);
});

test("does not list ignored files or files in ignored folders", async () => {
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

test("a cancelled request returns at once, and the next one gets the whole list", async () => {
  const files = new ProjectFiles(project({ "a.ts": "", "b/c.ts": "" }));
  const gone = new AbortController();
  const first = files.list(gone.signal);
  gone.abort();
  await first;
  expect((await files.list(never)).map(({ path }) => path)).toEqual(["a.ts", "b/", "b/c.ts"]);
});

test("another request gets the whole list after a cancelled one", async () => {
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
