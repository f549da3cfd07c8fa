import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Scenario, ScenarioAnswer } from "@bonsai-agent/models/scripted";

// Each job of the demo runs commands, one after the other. Each command adds its name to the job's log, so the logs show
// which commands ran, however the workers ended.

/** Each session has two jobs of nine commands. Latest first, as the model looks for its last step. */
const JOBS = [2, 1];
const PARTS = [9, 8, 7, 6, 5, 4, 3, 2, 1];

/** Entries of a session without interruptions: of each job the prompt, calls with results, and the answer. */
export const EXPECTED_ENTRIES = JOBS.length * (2 + 2 * PARTS.length);

export const jobPrompts = JOBS.map((job) => `Job ${job}: run parts 1 to ${PARTS.length}.`).reverse();

/** The names of a session's commands. */
export const commandNames = JOBS.flatMap((job) => PARTS.map((part) => nameOf(job, part)));

/** The names of the commands that ran in a session's folder. */
export function commandsThatRan(folder: string): string[] {
  const files = JOBS.map((job) => join(folder, logOf(job))).filter((file) => existsSync(file));
  return files.flatMap((file) => readFileSync(file, "utf8").trimEnd().split("\n"));
}

/** The beginning of a command, as its session stores it. */
export function commandStart(name: string): string {
  return `echo ${name} |`;
}

/** The model's answers depend only on the session, so each worker can continue each session. */
export function workScenario(): Scenario {
  const turn = JOBS.flatMap((job) => {
    const isInSession = { anyTextMatches: `^Job ${job}:` };
    const readLog = { name: "read", arguments: { path: logOf(job) } };
    return [
      ...PARTS.map((part) => answer({ lastTextMatches: nameOf(job, part) }, nextStep(job, part + 1))),
      answer({ lastTextMatches: `^Job ${job}:` }, nextStep(job, 1)),
      answer({ ...isInSession, lastTool: "read", lastToolFailed: true }, nextStep(job, 1)),
      answer(isInSession, { text: "The log shows which parts ran.", calls: [readLog] }),
    ];
  });
  return { turn };
}

function answer(when: ScenarioAnswer["when"], line: ScenarioAnswer): ScenarioAnswer {
  return { when, times: 1_000, ...line };
}

function nextStep(job: number, part: number): ScenarioAnswer {
  if (part > PARTS.length) return { text: `Job ${job} is done.` };
  const command = `${commandStart(nameOf(job, part))} tee -a ${logOf(job)}; sleep 1`;
  return { calls: [{ name: "bash", arguments: { command } }] };
}

function nameOf(job: number, part: number): string {
  return `job ${job} part ${part}`;
}

function logOf(job: number): string {
  return `job-${job}.log`;
}
