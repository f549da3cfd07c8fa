import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { generateSession } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { agentProject } from "./agent-project.ts";
import { longSession, testFolder } from "./call/sample-session.ts";
import { expectCancelled } from "./cancelled-compaction.ts";
import { commandWords } from "./command-words.ts";

test.each(["SIGINT", "SIGTERM"] as const)(
  "%s ends a compaction of 10,000 entries at work",
  async (signal) => {
    const file = join(testFolder(), "session.jsonl");
    generateSession({ file, entries: 10_000, seed: 5 });
    await expectCancelled({ signal, file });
  },
);

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
