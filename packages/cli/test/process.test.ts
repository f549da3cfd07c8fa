import { spawnSync } from "node:child_process";
import { appendFileSync } from "node:fs";
import { expect, test } from "vitest";
import { processIo } from "../src/call/io.ts";
import { jsonLines } from "./agent-project.ts";
import { longSession } from "./call/sample-session.ts";
import { commandWords } from "./command-words.ts";
import { runCli } from "./run-cli.ts";

test("the command ends quietly when its reader leaves", () => {
  const command = `"$0" ${commandWords.map((word) => `'${word}'`).join(" ")} tree "$1" --all | head -n 1`;
  const { stdout, stderr } = spawnSync("sh", ["-c", command, process.execPath, longSession()], {
    encoding: "utf8",
  });
  expect(stdout.split("\n")).toHaveLength(2);
  expect(stderr).toBe("");
});

test("JSON output contains notices", async () => {
  const file = longSession();
  appendFileSync(file, '{"type":"mess');
  const { code, stdout, stderr } = await runCli(["compact", file, "--json"]);
  expect([code, JSON.parse(stdout).status]).toEqual([0, "compacted"]);
  expect(jsonLines(stderr)).toMatchObject([{ notice: { code: "torn_line" } }]);
});

test("Ctrl-C aborts interruptible work without killing the process, and the handlers are removed after the work", async () => {
  const { interruptible } = processIo();
  const before = process.listenerCount("SIGINT");
  const aborted = await interruptible(async (signal) => {
    process.emit("SIGINT");
    return signal.aborted;
  });
  expect(aborted).toBe(true);
  expect(process.listenerCount("SIGINT")).toBe(before);
  await interruptible(async () => {});
  expect(process.listenerCount("SIGINT")).toBe(before);
});
