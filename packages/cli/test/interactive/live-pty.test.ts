import { expect, test } from "vitest";
import { agentProject, says } from "../agent-project.ts";
import { journeys } from "./journeys.ts";
import { lineSettings } from "./live-terminal.ts";
import { openPty } from "./pty.ts";

journeys(openPty);

test("at the end the terminal is as it was: its line, its cursor, its keys and pastes", async () => {
  const project = agentProject(says("Good."));
  const terminal = openPty({ project });
  await terminal.until("scripted");
  expect(terminal.modes()).toEqual({ cursor: false, bracketedPaste: true });
  terminal.press("ctrl+d");
  await terminal.until("ended with 0");
  expect(terminal.modes()).toEqual({ cursor: true, bracketedPaste: false });
  expect(lineSettings(project).after).toBe(lineSettings(project).before);
});
