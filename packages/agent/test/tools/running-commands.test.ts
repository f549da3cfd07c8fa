import { expect, test } from "vitest";
import { killRunningCommands } from "../../src/tools/process.ts";
import { shellCommand } from "../../src/tools/shell-command.ts";
import { isRunning } from "./is-running.ts";

test("a command that lets nothing end it is ended at once, with its children", async () => {
  let told = "";
  const outcome = await shellCommand({
    command: "trap '' TERM INT HUP; (trap '' TERM INT HUP; echo $BASHPID; exec sleep 60) & echo ready; wait",
    cwd: process.cwd(),
    env: process.env,
    signal: new AbortController().signal,
    onText: (text) => {
      told += text;
      if (/\d+\n/.test(told) && told.includes("ready")) killRunningCommands();
    },
  });
  expect(outcome).toMatchObject({ end: "exit", background: [] });
  const child = Number(/\d+/.exec(told)![0]);
  await expect.poll(() => isRunning(child)).toBe(false);
});

test("nothing runs, nothing is killed", () => {
  expect(() => killRunningCommands()).not.toThrow();
});
