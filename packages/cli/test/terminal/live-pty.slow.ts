import { expect, test } from "vitest";
import { journeys } from "./journeys.ts";
import { currentLineSettings, killBonsai } from "./live-terminal.ts";
import { expectAsBefore, openedTerminal } from "./opened-terminal.ts";
import { openPty } from "./pty.ts";

journeys(openPty);

test("SIGTERM during an answer restores the terminal", async () => {
  const { project, terminal } = await openedTerminal({
    text: "Begun. ".repeat(2_000),
    delayMs: 50,
    chunkChars: 12,
  });
  terminal.type("Tell me\n");
  await terminal.until("Begun.");
  killBonsai(project, "SIGTERM");
  await terminal.until("ended with 130");
  expectAsBefore(terminal, project);
});

test("Ctrl-Z does not suspend bonsai without a shell's job control", async () => {
  const { terminal } = await openedTerminal();
  terminal.press("ctrl+z");
  const [givenBack, taken] = ["\x1b[?2004l", "\x1b[?2004h"];
  await terminal.until(() => terminal.written.join("").split(givenBack).slice(1).join("").includes(taken));
  terminal.type("What is it?\n");
  await terminal.until("Good.");
});

test("SIGCONT restores the screen after SIGSTOP", async () => {
  const { project, terminal } = await openedTerminal();
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
