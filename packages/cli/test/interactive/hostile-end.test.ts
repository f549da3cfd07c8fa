import { expect, test } from "vitest";
import { openInteractive } from "./harness.ts";

test("a signal keeps the typed sentence for the next start", async () => {
  const first = openInteractive();
  await first.terminal.until("scripted");
  first.terminal.paste(`a long thought\n${"of many lines\n".repeat(20)}that was not sent`);
  await first.terminal.until(/paste #1/);
  await first.end();
  const { terminal } = openInteractive({ project: first.project });
  await terminal.until("scripted");
  terminal.press("up");
  await terminal.until("a long thought");
  terminal.press("enter");
  await terminal.until(/that was not sent\s+Good\./);
});

test("text cleared before the end is not kept", async () => {
  const first = openInteractive();
  await first.terminal.until("scripted");
  first.terminal.type("nobody is to know");
  first.terminal.press("ctrl+c", "ctrl+c");
  expect(await first.ended).toBe(0);
  const { terminal } = openInteractive({ project: first.project });
  await terminal.until("scripted");
  terminal.press("up");
  await terminal.settle();
  expect(terminal.screen()).not.toContain("nobody");
});
