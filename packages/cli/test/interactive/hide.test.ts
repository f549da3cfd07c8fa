import { expect, test } from "vitest";
import { hiddenIds } from "../../src/interactive/tree/hide.ts";
import { openSample } from "./tree-panel-setup.ts";

/** The answer of the sample session with the final text. */
const lastAnswer = "cccc0007";

test("Ctrl-X in /tree hides the selected message from the model, and shows it again", async () => {
  const { terminal, session } = await openSample();
  terminal.type("/tree\n");
  await terminal.until("Session tree");
  terminal.press("ctrl+x");
  expect(await terminal.until(/hidden Done: the total/)).toContain("show to the model");
  expect([...hiddenIds(session())]).toEqual([lastAnswer]);
  terminal.press("ctrl+x");
  await terminal.until((screen) => screen.includes("Ctrl-X hide") && !screen.includes("hidden Done"));
  expect(hiddenIds(session()).size).toBe(0);
});

test("/context lists the messages, and Enter hides one", async () => {
  const { terminal, session } = await openSample();
  terminal.type("/context\n");
  await terminal.until("Ctrl-X hide messages");
  terminal.press("ctrl+x");
  await terminal.until("the largest first");
  terminal.press("enter");
  await terminal.until("The model no longer sees");
  expect(hiddenIds(session()).size).toBeGreaterThan(0);
  terminal.press("ctrl+x");
  await terminal.until("again.");
  expect(hiddenIds(session()).size).toBe(0);
  terminal.press("esc");
  await terminal.until("Ctrl-X hide messages");
});
