import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Scenario, ScenarioAnswer } from "@bonsai-agent/models/scripted";

// Each job of the demo runs commands, one after the other. Each command adds a line to the job's log, so the logs show
// which commands ran, however the workers ended.

/** Jobs of each session. */
export const JOBS = 2;
/** Commands of each job. */
const PARTS = 9;
const PART_SECONDS = 1;
/** A worker takes the answers of one scenario for all its jobs. */
const ALWAYS = 1_000;

/** Entries of a session without interruptions: of each job the prompt, calls with results, and the answer. */
export const EXPECTED_ENTRIES = JOBS * (2 + 2 * PARTS);

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

export function jobPrompts(): string[] {
  return numbers(JOBS).map((job) => `Job ${job}: run parts 1 to ${PARTS}.`);
}

/** Every command of a session, in order, as its log names it. */
export function expectedParts(): string[] {
  return numbers(JOBS).flatMap((job) => numbers(PARTS).map((part) => partName(job, part)));
}

/** The commands that ran in a session's folder. */
export function loggedParts(folder: string): string[] {
  const files = numbers(JOBS).map((job) => join(folder, logOf(job)));
  const texts = files.filter((file) => existsSync(file)).map((file) => readFileSync(file, "utf8"));
  return texts.flatMap((text) => text.split("\n")).filter((line) => line !== "");
}

/** The beginning of a command, as the session stores it. */
export function commandOf(part: string): string {
  return `echo ${part} |`;
}

/** The model's answers depend only on the session, so each worker can continue each session. */
export function workScenario(): Scenario {
  const latestFirst = numbers(JOBS).reverse();
  return {
    turn: [
      ...latestFirst.flatMap((job) =>
        numbers(PARTS)
          .reverse()
          .map((part) => answer({ lastTextMatches: partName(job, part) }, afterPart(job, part))),
      ),
      ...latestFirst.map((job) => answer({ lastTextMatches: `^Job ${job}:` }, runPart(job, 1))),
      ...latestFirst.map((job) =>
        answer({ anyTextMatches: `^Job ${job}:`, lastTool: "read", lastToolFailed: true }, runPart(job, 1)),
      ),
      ...latestFirst.map((job) =>
        answer(
          { anyTextMatches: `^Job ${job}:` },
          {
            text: "The log shows which parts ran.",
            calls: [{ name: "read", arguments: { path: logOf(job) } }],
          },
        ),
      ),
    ],
  };
}

function answer(when: ScenarioAnswer["when"], line: ScenarioAnswer): ScenarioAnswer {
  return { when, times: ALWAYS, ...line };
}

function afterPart(job: number, part: number): ScenarioAnswer {
  return part < PARTS ? runPart(job, part + 1) : { text: `Job ${job} is done.` };
}

function runPart(job: number, part: number): ScenarioAnswer {
  const command = `${commandOf(partName(job, part))} tee -a ${logOf(job)}; sleep ${PART_SECONDS}`;
  return { calls: [{ name: "bash", arguments: { command } }] };
}

function partName(job: number, part: number): string {
  return `job ${job} part ${part}`;
}

function logOf(job: number): string {
  return `job-${job}.log`;
}
