import { spawn } from "node:child_process";
import { appendFileSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { expect } from "vitest";
import { commandWords } from "./command-words.ts";

interface Compaction {
  signal: "SIGINT" | "SIGTERM";
  /** The session file, alone in its folder. */
  file: string;
  flags?: readonly string[];
  env?: NodeJS.ProcessEnv;
}

/** Starts a compaction in a process, cancels it with the signal, and expects exit code 130 and no written file. */
export async function expectCancelled({ signal, file, flags = [], env = {} }: Compaction): Promise<void> {
  const folder = dirname(file);
  // The notice about the torn last line shows that the session is open. From then on, a signal cancels the run.
  appendFileSync(file, '{"type":"mess');
  const before = readFileSync(file);
  const argv = [...commandWords, "compact", file, ...flags];
  const child = spawn(process.execPath, argv, { cwd: folder, env: { ...process.env, ...env } });
  const notice = new Promise<void>((resolve) => child.stderr.once("data", () => resolve()));
  const ended = new Promise((resolve) => child.once("close", (code) => resolve(code)));
  await notice;
  child.kill(signal);
  expect(await ended).toBe(130);
  expect(readFileSync(file).equals(before)).toBe(true);
  expect(readdirSync(folder)).toEqual([basename(file)]);
}
