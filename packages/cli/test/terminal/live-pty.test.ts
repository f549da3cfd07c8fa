import { test } from "vitest";
import { expectAsBefore, openedTerminal } from "./opened-terminal.ts";

test("Ctrl-D restores the terminal's line settings, cursor and modes", async () => {
  const { project, terminal } = await openedTerminal();
  terminal.press("ctrl+d");
  await terminal.until("ended with 0");
  expectAsBefore(terminal, project);
});
