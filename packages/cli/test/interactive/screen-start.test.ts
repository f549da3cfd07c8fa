import { expect, test } from "vitest";
import { says } from "../call/agent-project.ts";
import { openInteractive } from "./harness.ts";

test("a prompt is typed, and its answer streams in", async () => {
  const { terminal } = openInteractive({ scenario: says("The answer is 42.") });
  await terminal.until("scripted");
  terminal.type("What is it?\n");
  await terminal.until("The answer is 42.");
  expect(terminal.screen()).toContain("What is it?");
});

test("a failed start leaves only the text typed meanwhile", async () => {
  const bare = openInteractive({ argv: ["--session", "nope"] });
  await expect(bare.ended).rejects.toThrow("No session file or id");
  await bare.terminal.settle();
  expect(bare.terminal.written.join("")).toContain("───");
  expect(bare.terminal.screen().trim()).toBe("");

  const typed = openInteractive({ argv: ["--session", "nope"] });
  typed.terminal.type("already typed");
  await expect(typed.ended).rejects.toThrow("No session file or id");
  await typed.terminal.settle();
  expect(typed.terminal.screen()).toContain("already typed");
});
