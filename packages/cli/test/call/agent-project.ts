import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { testFolder } from "./sample-session.ts";

/** A time that no golden text changes with. */
export const nowMs = Date.UTC(2026, 10, 21, 2);

/** A project, a home of its own, and a model that says what a scenario has for it. */
export interface AgentProject {
  cwd: string;
  home: string;
  /** A home folder of the user without anything of other agents in it. */
  env: { BONSAI_HOME: string; HOME: string };
  /** `--model scripted/…`. */
  model: readonly [string, string];
}

export function agentProject(scenario: Scenario, files: Record<string, string | Buffer> = {}): AgentProject {
  const folder = testFolder();
  const cwd = join(folder, "project");
  const home = join(folder, "home");
  for (const made of [cwd, home]) mkdirSync(made);
  const play = join(folder, "scenario.json");
  writeFileSync(play, JSON.stringify(scenario));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content);
  return { cwd, home, env: { BONSAI_HOME: home, HOME: folder }, model: ["--model", `scripted/${play}`] };
}

/** Says `text` to everything. */
export function says(text: string): Scenario {
  return { contextWindow: 100_000, turn: [{ text }], atEnd: "repeat" };
}
