import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bonsaiCommand, emptyFolder, runExample } from "./run-example.ts";

test("09 asks, follows the events, prints the answer, and ends the program", () => {
  const cwd = emptyFolder();
  const scenario = join(emptyFolder(), "scenario.json");
  const turn = [{ calls: [{ name: "ls" }] }, { text: "Two\u2028files." }];
  writeFileSync(scenario, JSON.stringify({ contextWindow: 100_000, turn }));
  for (const name of ["a.md", "b.md"]) writeFileSync(join(cwd, name), "");
  const bonsai = [...bonsaiCommand(), "--mode", "rpc", "--model", `scripted/${scenario}`];
  const args = ["list the files", "--", ...bonsai];
  const env = { BONSAI_HOME: emptyFolder() };
  const { stdout, stderr } = runExample("09-rpc-client.ts", { args, cwd, env });
  expect(stderr).toBe("");
  expect(stdout).toMatch(/^\(uses ls\)\nTwo\u2028files\.\n\(\d+ tokens\)\n$/);
});

test.each([
  [
    "a program that is not there",
    ["/nonexistent/bonsai"],
    "Bonsai cannot be started (spawn /nonexistent/bonsai ENOENT). Install it with `npm install",
  ],
  ["a program that refuses to start", [process.execPath, "-e", "process.exit(2)"], "without an answer"],
])("09 says that it was given %s", (_, command, words) => {
  const { status, stderr } = runExample("09-rpc-client.ts", { args: ["hi", "--", ...command] });
  expect(status).toBe(1);
  expect(stderr.trim().split("\n")).toEqual([expect.stringContaining(words)]);
});
