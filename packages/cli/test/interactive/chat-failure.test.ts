import { expect, test } from "vitest";
import { openInteractive } from "./harness.ts";

const refused = { error: { status: 400, message: "no such model" } };

test("a failed run is reported once, with a remedy", async () => {
  const { terminal } = openInteractive({ scenario: { turn: [refused, { text: "Good." }] }, columns: 200 });
  await terminal.until("scripted");
  terminal.type("Hello\n");
  const screen = await terminal.until("choose another");
  expect(screen.match(/no such model/g)).toHaveLength(1);
  expect(screen).not.toContain("Failed:");
  terminal.type("Again\n");
  const after = await terminal.until("Good.");
  expect(after.match(/no such model/g)).toHaveLength(1);
});
