import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Scenario } from "@bonsai-agent/models";
import { type CliRun, type RunCliOptions, runCli } from "./run-cli.ts";
import { testFolder } from "./sample-session.ts";

/** A project, a home of its own, and a model that says what a scenario has for it. */
export interface AgentProject {
  cwd: string;
  home: string;
  env: { BONSAI_HOME: string };
  /** `--model scripted/…`. */
  model: readonly [string, string];
  /** Runs `bonsai` in the project with the model. */
  run(argv: readonly string[], options?: RunCliOptions): Promise<CliRun>;
}

export function agentProject(scenario: Scenario, files: Record<string, string | Buffer> = {}): AgentProject {
  const folder = testFolder();
  const cwd = join(folder, "project");
  const home = join(folder, "home");
  for (const made of [cwd, home]) mkdirSync(made);
  const play = join(folder, "scenario.json");
  writeFileSync(play, JSON.stringify(scenario));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
  const env = { BONSAI_HOME: home };
  const model = ["--model", `scripted/${play}`] as const;
  return {
    cwd,
    home,
    env,
    model,
    run: (argv, options = {}) =>
      runCli([...argv, ...model], { cwd, ...options, env: { ...env, ...options.env } }),
  };
}

/** Says `text` to everything. */
export function says(text: string): Scenario {
  return { contextWindow: 100_000, turn: [{ text }], atEnd: "repeat" };
}

/** Lines of JSON as values. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
