import { expect, test } from "vitest";
import { says } from "../agent-project.ts";
import { openInteractive } from "./harness.ts";

test("a prompt is typed, and its answer streams in", async () => {
  const { terminal } = openInteractive({ scenario: says("The answer is 42.") });
  await terminal.until("scripted");
  terminal.type("What is it?\n");
  await terminal.until("The answer is 42.");
  expect(terminal.screen()).toContain("What is it?");
});
