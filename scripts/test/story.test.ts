import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";

// The script may have to build.
vi.setConfig({ testTimeout: 180_000 });

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs the script of `npm start -- WORDS`, without the build before it. */
const start = (...words: string[]) => runScript("scripts/story/start.ts", words);

function runScript(script: string, words: string[]) {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-start-"));
  const argv = [join(root, script), ...words];
  const env = { ...process.env, INIT_CWD: root, BONSAI_HOME: folder, TMPDIR: folder };
  return spawnSync(process.execPath, argv, { cwd: root, encoding: "utf8", input: "", env });
}

test("`npm start -- ARGS` builds, then runs `bonsai ARGS`", () => {
  const { version } = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8"));
  const { status, stdout } = runScript("scripts/story.ts", ["--version"]);
  expect([status, stdout]).toEqual([0, `${version}\n`]);
  expect(start("tree", "--help").stdout).toMatch(/^Usage: bonsai session tree /);
  expect(start("--nope")).toMatchObject({ status: 2, stderr: expect.stringContaining("--nope") });
});

test("`npm start -- PROMPT` starts the agent", () => {
  const { status, stderr } = start("fix the failing test", "--model", "nowhere/none");
  expect([status, stderr]).toEqual([1, expect.stringContaining("provider_unknown")]);
});

test("the next command of the demo works in the same shell", () => {
  const { stdout } = start("demo", "--fast");
  const [, line] = /^ +next +npm start -- (.*)$/m.exec(stdout) ?? [];
  const { status, stdout: shown } = start(...line!.split(" "));
  expect(status).toBe(0);
  expect(shown).toContain("Latest compaction");
});

test("`npm start -- FILE` compacts a copy", () => {
  const file = join(root, "examples/workday.jsonl");
  const before = readFileSync(file, "utf8");
  const { status, stdout } = start("examples/workday.jsonl");
  expect(status).toBe(0);
  expect(stdout).toContain("The tree: nothing is lost");
  expect(readFileSync(file, "utf8")).toBe(before);
});
