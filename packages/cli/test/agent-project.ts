import type { Scenario } from "@bonsai-agent/models/scripted";
import * as app from "./call/agent-project.ts";
import { type CliRun, type RunCliOptions, runCli } from "./run-cli.ts";

export { says } from "./call/agent-project.ts";

export interface AgentProject extends app.AgentProject {
  /** Runs `bonsai` in the project with the model. */
  run(argv: readonly string[], options?: RunCliOptions): Promise<CliRun>;
}

export function agentProject(scenario: Scenario, files?: Record<string, string | Buffer>): AgentProject {
  const project = app.agentProject(scenario, files);
  const { cwd, env, model } = project;
  return {
    ...project,
    run: (argv, options = {}) =>
      runCli([...argv, ...model], { cwd, ...options, env: { ...env, ...options.env } }),
  };
}

/** Lines of JSON as values. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
