import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";

// It builds what has changed.
vi.setConfig({ testTimeout: 180_000 });

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What `npm start -- …` runs, once the toolchain is there. */
function start(...words: string[]) {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-start-"));
  const argv = ["--conditions=@bonsai-agent/source", join(root, "scripts/story.ts"), ...words];
  const env = { ...process.env, INIT_CWD: root, BONSAI_HOME: folder, TMPDIR: folder };
  return spawnSync(process.execPath, argv, { cwd: root, encoding: "utf8", input: "", env });
}

test("flags and commands behind `npm start --` are those of `bonsai`", () => {
  const { version } = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8"));
  expect(start("--version")).toMatchObject({ status: 0, stdout: `${version}\n` });
  expect(start("tree", "--help").stdout).toMatch(/^Usage: bonsai tree /);
  expect(start("--nope")).toMatchObject({ status: 2, stderr: expect.stringContaining("--nope") });
});

test("a prompt behind it is the agent's, which says what it is missing", () => {
  const { status, stderr } = start("mend the failing test", "--model", "nowhere/none");
  expect([status, stderr]).toEqual([1, expect.stringContaining("provider_unknown")]);
});

test("what it names to go on with can be typed where it was started", () => {
  const { stdout } = start("demo", "--fast");
  const [, line] = /^ +go on +npm start -- (.*)$/m.exec(stdout) ?? [];
  const { status, stdout: shown } = start(...line!.split(" "));
  expect(status).toBe(0);
  expect(shown).toContain("Latest compaction");
});

test("a file behind it is compacted in a copy", () => {
  const file = join(root, "examples/workday.jsonl");
  const before = readFileSync(file, "utf8");
  const { status, stdout } = start("examples/workday.jsonl");
  expect(status).toBe(0);
  expect(stdout).toContain("The tree: nothing is lost");
  expect(readFileSync(file, "utf8")).toBe(before);
});
