import { closeSync, mkdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type ToolFolder, toolFolder } from "./tool-folder.ts";

type CommandOutput = typeof import("../../src/tools/command-output.ts");

let folder: ToolFolder;
let run = 0;

beforeEach(() => {
  folder = toolFolder();
  vi.stubEnv("TMPDIR", folder.path);
  run += 1;
});

afterEach(() => {
  vi.unstubAllEnvs();
  folder[Symbol.dispose]();
});

/** Each run of Bonsai finds its folder once, and so has a module of its own. */
async function openOne(): Promise<string> {
  const module = new URL(`../../src/tools/command-output.ts?run=${run}`, import.meta.url);
  const { openOutputFile }: CommandOutput = await import(module.href);
  const { path, descriptor } = openOutputFile();
  closeSync(descriptor);
  return path;
}

test("an output is for its user's eyes alone", async () => {
  const path = await openOne();
  expect([statSync(path).mode & 0o777, statSync(dirname(path)).mode & 0o777]).toEqual([0o600, 0o700]);
});

test("a folder that the system cleared away is made again", async () => {
  rmSync(dirname(await openOne()), { recursive: true });
  expect(statSync(await openOne()).size).toBe(0);
});

test("a link of the folder's name, which anybody can make, is not followed", async () => {
  const name = basename(dirname(await openOne()));
  rmSync(join(folder.path, name), { recursive: true });
  mkdirSync(join(folder.path, "trap"));
  symlinkSync("trap", join(folder.path, name));
  run += 1;
  expect(basename(dirname(await openOne()))).toMatch(new RegExp(`^${name}-.{6}$`));
});

test("outputs of a week ago are removed, younger ones are not", async () => {
  const outputs = dirname(await openOne());
  for (const [name, days] of [
    ["old", 8],
    ["young", 6],
  ] as const) {
    writeFileSync(join(outputs, name), "");
    const seconds = Date.now() / 1_000 - days * 24 * 3_600;
    utimesSync(join(outputs, name), seconds, seconds);
  }
  run += 1;
  await openOne();
  expect(statSync(join(outputs, "old"), { throwIfNoEntry: false })).toBeUndefined();
  expect(statSync(join(outputs, "young")).size).toBe(0);
});
