import { spawn } from "node:child_process";
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { generateSession } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { testFolder } from "../../app/test/sample-session.ts";
import { commandWords } from "./command-words.ts";

test.each(["SIGINT", "SIGTERM"] as const)(
  "%s ends a compaction of 10,000 entries at work",
  async (signal) => {
    const folder = testFolder();
    const file = join(folder, "session.jsonl");
    generateSession({ file, entries: 10_000, seed: 5 });
    // The notice about the torn last line shows that the session is open. From then on, a signal cancels the run.
    appendFileSync(file, '{"type":"mess');
    const before = readFileSync(file);
    const child = spawn(process.execPath, [...commandWords, "compact", file], { cwd: folder });
    const notice = new Promise<void>((resolve) => child.stderr.once("data", () => resolve()));
    const ended = new Promise((resolve) => child.once("close", (code) => resolve(code)));
    await notice;
    child.kill(signal);
    expect(await ended).toBe(130);
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(readdirSync(folder)).toEqual(["session.jsonl"]);
  },
);
