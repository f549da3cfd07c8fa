import { expect, test } from "vitest";
import { openInteractive } from "./harness.ts";

const scenario = { turn: [{ text: "Hello back." }], atEnd: "repeat" } as const;

/** A project in which something was said already. */
async function project() {
  const opened = openInteractive({ scenario });
  await opened.terminal.until("scripted");
  opened.terminal.type("The first words\n");
  await opened.terminal.until("Hello back.");
  await opened.end();
  return opened.project;
}

test("-r without an id shows the sessions, and goes on in the one that is picked", async () => {
  const { terminal } = openInteractive({ project: await project(), argv: ["-r"] });
  await terminal.until("Sessions");
  await terminal.until("The first words");
  terminal.press("enter");
  await terminal.until("Hello back.");
  expect(terminal.screen()).toContain("The first words");
});

test("leaving the list of -r ends the program, with nothing begun", async () => {
  const { terminal, ended, printed } = openInteractive({ project: await project(), argv: ["-r"] });
  await terminal.until("Sessions");
  terminal.press("esc");
  expect(await ended).toBe(0);
  expect(printed()).not.toContain("Continue with");
});
