import type { ScenarioAnswer } from "@bonsai-agent/models/scripted";
import { expect, test } from "vitest";
import { type AgentProject, agentProject } from "../agent-project.ts";
import type { HeadlessTerminal } from "../interactive/headless-terminal.ts";
import { currentLineSettings, killBonsai, lineSettings } from "./live-terminal.ts";
import { openPty } from "./pty.ts";

test("Ctrl-D restores the terminal's line settings, cursor and modes", async () => {
  const { project, terminal } = await opened();
  terminal.press("ctrl+d");
  await terminal.until("ended with 0");
  expectAsBefore(terminal, project);
});

test("SIGTERM during an answer restores the terminal", async () => {
  const { project, terminal } = await opened({ text: "Begun. ".repeat(2_000), delayMs: 50, chunkChars: 12 });
  terminal.type("Tell me\n");
  await terminal.until("Begun.");
  killBonsai(project, "SIGTERM");
  await terminal.until("ended with 130");
  expectAsBefore(terminal, project);
});

test("Ctrl-Z does not suspend bonsai without a shell's job control", async () => {
  const { terminal } = await opened();
  terminal.press("ctrl+z");
  const [givenBack, taken] = ["\x1b[?2004l", "\x1b[?2004h"];
  await terminal.until(() => terminal.written.join("").split(givenBack).slice(1).join("").includes(taken));
  terminal.type("What is it?\n");
  await terminal.until("Good.");
});

test("SIGCONT restores the screen after SIGSTOP", async () => {
  const { project, terminal } = await opened();
  const ofBonsai = currentLineSettings(project);
  killBonsai(project, "SIGSTOP");
  // As a shell does that shows its prompt.
  currentLineSettings(project, ["sane"]);
  expect(currentLineSettings(project)).not.toBe(ofBonsai);
  const written = terminal.written.length;
  killBonsai(project, "SIGCONT");
  await terminal.until(() => terminal.written.slice(written).join("").includes("scripted"));
  expect(currentLineSettings(project)).toBe(ofBonsai);
  terminal.type("What is it?\n");
  await terminal.until("Good.");
});

async function opened(turn: ScenarioAnswer = { text: "Good." }) {
  const project = agentProject({ contextWindow: 100_000, turn: [turn] });
  const terminal = openPty({ project });
  await terminal.until("scripted");
  expect(terminal.modes()).toEqual({ cursor: false, bracketedPaste: true });
  return { project, terminal };
}

function expectAsBefore(terminal: HeadlessTerminal, project: AgentProject): void {
  expect(terminal.modes()).toEqual({ cursor: true, bracketedPaste: false });
  const { before, after } = lineSettings(project);
  expect(after).toBe(before);
}
