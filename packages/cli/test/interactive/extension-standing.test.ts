import { expect, test } from "vitest";
import { withExtension } from "./extension-setup.ts";

test("widget, header, footer and spinner text stay until they are removed", async () => {
  const { terminal, command } = await withExtension(
    `
    const lines = (...texts) => () => ({ render: () => texts, dispose() { globalThis.disposed = texts[0]; } });
    bonsai.registerCommand("on", { handler(_args, { ui }) {
      ui.setWidget("w", lines("The widget"));
      ui.setHeader(lines("The header"));
      ui.setFooter((tui, theme, data) => ({ render: () => ["The footer " + data.getGitBranch()] }));
      ui.setWorkingMessage("\\u001b[31mPondering\\u001b[39m");
    } });
    bonsai.registerCommand("off", { handler(_args, { ui }) {
      ui.setWidget("w", undefined); ui.setHeader(undefined); ui.setFooter(undefined); ui.setWorkingMessage();
    } });
    bonsai.registerCommand("bad", { handler(_args, { ui }) {
      ui.setFooter(() => ({ render() { throw new Error("no foot"); } }));
    } });`,
    { scenario: { contextWindow: 100_000, turn: [{ text: "slow words", delayMs: 40, chunkChars: 1 }] } },
  );
  command("/on");
  const on = await terminal.until("The footer null");
  expect(on).toContain("The widget");
  expect(on).toContain("The header");
  expect(on).not.toContain("/100k");
  command("go");
  await terminal.until(/⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏/);
  expect(await terminal.until("Pondering")).not.toContain("[31m");
  await terminal.until("slow words");
  command("/off");
  const off = await terminal.until("/100k");
  for (const text of ["The widget", "The header", "The footer"]) expect(off).not.toContain(text);
  expect((globalThis as unknown as { disposed: string }).disposed).toBe("The header");
  command("/bad");
  await terminal.until("no foot");
  await terminal.until("/100k");
});

test("the hint for a second key press covers an extension's footer", async () => {
  const { terminal } = await withExtension(`
    bonsai.on("session_start", (_event, ctx) => ctx.ui.setFooter(() => ({ render: () => ["first", "second"] })));`);
  await terminal.until("first");
  terminal.press("ctrl+c");
  const screen = await terminal.until("Ctrl-C again to quit");
  expect(screen).not.toContain("first");
  expect(screen).toContain("second");
  await terminal.until("first");
});
