import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";

/** A folder for the files of one test file, gone afterwards. Returns paths in it. */
export function scratchFolder(): (name: string) => string {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "bonsai-session-"));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });
  return (name) => join(folder, name);
}
