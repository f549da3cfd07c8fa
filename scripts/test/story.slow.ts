import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateWorkday } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";

const start = fileURLToPath(new URL("../story/start.ts", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));

function runScript(folder: string, words: string[]) {
  const home = mkdtempSync(join(tmpdir(), "bonsai-start-"));
  const env = { ...process.env, INIT_CWD: folder, BONSAI_HOME: home, TMPDIR: home };
  const argv = [join(folder, "scripts/story.ts"), ...words];
  return spawnSync(process.execPath, argv, { cwd: folder, encoding: "utf8", input: "", env });
}

/** A clone with a fast build, which writes a command that prints its arguments. */
function cloneWith(build: string): string {
  const clone = mkdtempSync(join(tmpdir(), "bonsai-clone-"));
  mkdirSync(join(clone, "packages/cli/bin"), { recursive: true });
  for (const part of ["story.ts", "story"])
    cpSync(join(root, "scripts", part), join(clone, "scripts", part), { recursive: true });
  writeFileSync(join(clone, "package.json"), '{ "type": "module" }');
  writeFileSync(join(clone, "scripts/build.ts"), build);
  return clone;
}

const COMMAND = `console.log(JSON.stringify([process.argv.slice(2), process.env.BONSAI_CALLED_AS]));
process.exitCode = 2;`;
const BUILD = `import { writeFileSync } from "node:fs";
writeFileSync("packages/cli/bin/bonsai.js", ${JSON.stringify(COMMAND)});`;

test("`npm start -- FILE` compacts a copy", () => {
  const home = mkdtempSync(join(tmpdir(), "bonsai-start-"));
  const file = join(home, "workday.jsonl");
  generateWorkday({ file, seed: 3, entries: 300 });
  const before = readFileSync(file, "utf8");
  const argv = [start, "workday.jsonl"];
  const env = { ...process.env, INIT_CWD: home, BONSAI_HOME: home, TMPDIR: home };
  const { status, stdout } = spawnSync(process.execPath, argv, { encoding: "utf8", input: "", env });
  expect(status).toBe(0);
  expect(stdout).toContain("The tree: nothing is lost");
  expect(readFileSync(file, "utf8")).toBe(before);
});

test("`npm start -- ARGS` builds, then runs `bonsai ARGS` and takes over its exit code", () => {
  const words = ["fix the failing test", "--model", "nowhere/none"];
  const { status, stdout } = runScript(cloneWith(BUILD), words);
  expect([status, JSON.parse(stdout)]).toEqual([2, [words, "npm start --"]]);
});

test("`npm start` prints the errors of a failed build and runs nothing", () => {
  const run = runScript(cloneWith('console.error("No such type."); process.exit(3);'), ["tree"]);
  expect(run).toMatchObject({ status: 3, stdout: "", stderr: expect.stringContaining("No such type.") });
});
