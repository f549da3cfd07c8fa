import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentSettingsInput } from "@bonsai-agent/agent";
import type { Scenario } from "@bonsai-agent/models/scripted";
import { agentProject } from "../call/agent-project.ts";
import { modelSummary } from "../call/model-summary.ts";
import { longSession } from "../call/sample-session.ts";
import { type OpenedInteractive, type OpenInteractiveOptions, openInteractive } from "./harness.ts";

/** A model that answers in a word, and summarises as it is asked. */
export const longPlay: Scenario = {
  contextWindow: 100_000,
  turn: [{ text: "Well." }],
  summary: [{ text: modelSummary() }],
  title: [{ text: "Orders" }],
  atEnd: "repeat",
};

export interface OpenedLong extends OpenedInteractive {
  file: string;
}

export interface OpenLongOptions extends Pick<OpenInteractiveOptions, "env" | "columns" | "rows"> {
  /** The user's own. */
  settings?: AgentSettingsInput;
  /** Default `longPlay`. */
  scenario?: Scenario;
  /** Default: a session that is larger than the window. */
  file?: string;
}

export async function openLong(options: OpenLongOptions = {}): Promise<OpenedLong> {
  const { scenario = longPlay, file = longSession(), env = {}, settings = {} } = options;
  const { columns = 80, rows = 40 } = options;
  const project = agentProject(scenario);
  writeFileSync(join(project.home, "settings.json"), JSON.stringify(settings));
  const opened = openInteractive({ project, env, argv: ["--session", file], columns, rows });
  await opened.terminal.until("k/100k");
  return { ...opened, file };
}
