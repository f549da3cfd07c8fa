import { expect, test } from "vitest";
import { MainScreen } from "../../src/interactive/terminal/main-screen.ts";
import { says } from "../call/agent-project.ts";
import { openInteractive } from "./harness.ts";
import { HeadlessTerminal } from "./headless-terminal.ts";

test("takes keys in very narrow columns with wide characters, and shows everything again later", async () => {
  const { terminal, ended } = openInteractive({ scenario: says("日本語の答え is 42.") });
  await terminal.until("scripted");
  terminal.type("What is 日本語?\n");
  await terminal.until("42.");
  terminal.type("日本語 👨‍👩‍👧‍👦 again");
  for (const [at, columns] of [1, 2, 3, 5].entries()) {
    terminal.resize(columns, 10);
    await terminal.nextFrame();
    terminal.press("left", "up", "up", "down", "end");
    terminal.type(`${at}`);
    terminal.resize(80, 24);
    await terminal.until(new RegExp(`日本語 .* again${"0123".slice(0, at + 1)} *$`, "mu"));
  }
  terminal.press("ctrl+c", "ctrl+c");
  expect(await ended).toBe(0);
});

test("a line that does not fit is cut, and is whole where it fits", async () => {
  const terminal = new HeadlessTerminal({ columns: 20, rows: 5 });
  const screen = new MainScreen(terminal);
  let text = "short";
  screen.addChild({ render: () => [text], invalidate: () => {} });
  screen.start();
  screen.renderNow();
  text = `\u001b[31m日本語${"x".repeat(30)}\u001b[0m`;
  screen.renderNow();
  await terminal.settle();
  expect(terminal.screen()).toBe(`日本語${"x".repeat(14)}`);
  terminal.resize(40, 5);
  screen.renderNow();
  await terminal.settle();
  expect(terminal.screen()).toBe(`日本語${"x".repeat(30)}`);
  screen.stop();
});

test("a paste into a panel brings no escape sequence to the terminal", async () => {
  const { terminal } = openInteractive();
  await terminal.until("scripted");
  terminal.type("/settings\n");
  await terminal.until("type to search");
  terminal.written.length = 0;
  terminal.paste("find \u001b[2J\u001b]0;mine\u0007this\u009b31m\u0000");
  await terminal.until("find this");
  const written = terminal.written.join("");
  for (const harm of ["\u001b[2J", "mine", "\u009b"]) expect(written).not.toContain(harm);
});
