import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateWorkday } from "@bonsai-agent/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";

const cli = fileURLToPath(new URL("../../packages/cli", import.meta.url));
let folder: string;

// What a user does: one tarball, one install, and the command is there.
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "bonsai-pack-"));
  execFileSync("pnpm", ["pack", "--pack-destination", folder], { cwd: cli });
  const tarball = join(folder, readdirSync(folder).find((name) => name.endsWith(".tgz"))!);
  execFileSync("npm", ["install", "--global", "--offline", "--prefix", join(folder, "prefix"), tarball]);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

function bonsai(...args: string[]) {
  return spawnSync(process.execPath, [join(folder, "prefix/bin/bonsai"), ...args], {
    encoding: "utf8",
    env: { ...process.env, BONSAI_HOME: join(folder, "home") },
  });
}

test("the installed command has one package and tells its version", () => {
  expect(readdirSync(join(folder, "prefix/lib/node_modules"))).toEqual(["bonsai-agent"]);
  const { version } = JSON.parse(readFileSync(join(cli, "package.json"), "utf8"));
  expect(bonsai("--version").stdout.trim()).toBe(version);
});

test("the installed command compacts a session", () => {
  const file = join(folder, "workday.jsonl");
  generateWorkday({ file, seed: 3, entries: 300 });
  const before = readFileSync(file);
  const run = bonsai("compact", file, "--digest", "-o", join(folder, "copy.jsonl"), "--json");
  expect(run.stderr).toBe("");
  const result = JSON.parse(run.stdout);
  expect(result.status).toBe("compacted");
  expect(result.tokensAfter).toBeLessThan(result.tokensBefore);
  expect(readFileSync(file).equals(before)).toBe(true);
  const context = JSON.parse(bonsai("context", join(folder, "copy.jsonl"), "--json").stdout);
  expect(context[0]).toMatchObject({ entryId: result.entryId, role: "compactionSummary" });
  expect(context[1].entryId).toBe(result.firstKeptEntryId);
});
