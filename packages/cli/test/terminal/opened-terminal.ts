import type { ScenarioAnswer } from "@bonsai-agent/models/scripted";
import { expect } from "vitest";
import { type AgentProject, agentProject } from "../agent-project.ts";
import type { HeadlessTerminal } from "../interactive/headless-terminal.ts";
import { lineSettings } from "./live-terminal.ts";
import { openPty } from "./pty.ts";

/** A terminal with a started command. */
export async function openedTerminal(turn: ScenarioAnswer = { text: "Good." }) {
  const project = agentProject({ contextWindow: 100_000, turn: [turn] });
  const terminal = openPty({ project });
  await terminal.until("scripted");
  expect(terminal.modes()).toEqual({ cursor: false, bracketedPaste: true });
  return { project, terminal };
}

/** Expects the terminal as it was before the command. */
export function expectAsBefore(terminal: HeadlessTerminal, project: AgentProject): void {
  expect(terminal.modes()).toEqual({ cursor: true, bracketedPaste: false });
  const { before, after } = lineSettings(project);
  expect(after).toBe(before);
}
