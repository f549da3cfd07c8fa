import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { generateWorkday } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";

const start = fileURLToPath(new URL("../story/start.ts", import.meta.url));

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
