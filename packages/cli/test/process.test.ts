import { spawnSync } from "node:child_process";
import { appendFileSync, copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { processIo } from "../src/call/io.ts";
import { agentProject, jsonLines } from "./agent-project.ts";
import { longSession, testFolder } from "./call/sample-session.ts";
import { expectCancelled } from "./cancelled-compaction.ts";
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

test.runIf(existsSync("/dev/full"))(
  "a full disk behind stdout is an error with a code, for the shell too",
  () => {
    const command = `"$0" ${commandWords.map((word) => `'${word}'`).join(" ")} context "$1" --json > /dev/full`;
    const { status, stderr } = spawnSync("sh", ["-c", command, process.execPath, longSession()], {
      encoding: "utf8",
    });
    expect(status).toBe(1);
    expect(JSON.parse(stderr).error).toMatchObject({ code: "file_access_failed" });
  },
);

test("a deleted working folder is a clear error, and help still works", () => {
  const folder = testFolder();
  const command = `cd "$2" && rmdir "$2" && "$0" ${commandWords.map((word) => `'${word}'`).join(" ")} $3 --json "$1"`;
  const run = (name: string, file: string) => {
    mkdirSync(folder, { recursive: true });
    return spawnSync("sh", ["-c", command, process.execPath, file, folder, name], { encoding: "utf8" });
  };
  expect(run("--help", "")).toMatchObject({ status: 0, stderr: "" });
  const { status, stderr } = run("show", "session.jsonl");
  expect(status).toBe(1);
  expect(JSON.parse(stderr).error.code).toBe("working_folder_gone");
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

test("SIGINT and SIGTERM cancel a compaction during its summary, and no file is written", async () => {
  const summary = [{ text: "never", delayMs: 3_600_000 }];
  const { env, model } = agentProject({ contextWindow: 100_000, turn: [], summary });
  const cancelled = async (signal: "SIGINT" | "SIGTERM", ...flags: string[]) => {
    const file = join(testFolder(), "session.jsonl");
    copyFileSync(longSession(), file);
    await expectCancelled({ signal, file, flags: [...flags, ...model], env });
  };
  await Promise.all([cancelled("SIGINT"), cancelled("SIGTERM", "-o", "copy.jsonl")]);
});
