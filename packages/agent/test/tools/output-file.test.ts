import { closeSync, mkdirSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type ToolFolder, toolFolder } from "./tool-folder.ts";

let folder: ToolFolder;

beforeEach(() => {
  folder = toolFolder();
  vi.stubEnv("TMPDIR", folder.path);
  // Each run of Bonsai finds its folder once.
  vi.resetModules();
});

afterEach(() => {
  vi.unstubAllEnvs();
  folder[Symbol.dispose]();
});

async function openOne(): Promise<string> {
  const { openOutputFile } = await import("../../src/tools/command-output.ts");
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
  vi.resetModules();
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
  vi.resetModules();
  await openOne();
  expect(statSync(join(outputs, "old"), { throwIfNoEntry: false })).toBeUndefined();
  expect(statSync(join(outputs, "young")).size).toBe(0);
});
