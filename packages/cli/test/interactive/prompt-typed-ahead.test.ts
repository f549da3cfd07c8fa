import { expect, test } from "vitest";
import { says } from "../call/agent-project.ts";
import { openInteractive } from "./harness.ts";

test("fast typing sends the typed text, not an outdated completion", async () => {
  const { terminal, ended } = openInteractive({ scenario: says("Good.") });
  await terminal.until("/100k");
  terminal.type("/");
  await terminal.until(/→ new/);
  terminal.type("trust ");
  await terminal.until(/→ off/);
  terminal.type("paths\n");
  await terminal.until("No paths outside");
  terminal.type("/");
  await terminal.until(/→ new/);
  terminal.type("quit\n");
  expect(await ended).toBe(0);
});
