import { execFileSync, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { agentProject } from "./agent-project.ts";

const client = fileURLToPath(new URL("../../../examples/rpc-client/rpc-client.ts", import.meta.url));
const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));

test("the example client asks, follows the events, and ends the program", () => {
  const { cwd, env, model } = agentProject(
    { contextWindow: 100_000, turn: [{ calls: [{ name: "ls" }] }, { text: "Two\u2028files." }] },
    { "a.md": "", "b.md": "" },
  );
  const bonsai = [process.execPath, "--conditions=@bonsai-agent/source", "--no-warnings", main];
  const argv = ["--no-warnings", client, "list the files", "--", ...bonsai, "--mode", "rpc", ...model];
  const stdout = execFileSync(process.execPath, argv, {
    cwd,
    env: { ...process.env, ...env },
    encoding: "utf8",
  });
  expect(stdout).toMatch(/^\(uses ls\)\nTwo\u2028files\.\n\(\d+ tokens\)\n$/);
});

test.each([
  ["a program that is not there", ["/nonexistent/bonsai"], "ENOENT"],
  ["a program that refuses to start", [process.execPath, "-e", "process.exit(2)"], "without an answer"],
])("the example client says that it was given %s", (_, command, words) => {
  const argv = ["--no-warnings", client, "hi", "--", ...command];
  const { status, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
  expect(status).toBe(1);
  expect(stderr.trim().split("\n")).toEqual([expect.stringContaining(words)]);
});
