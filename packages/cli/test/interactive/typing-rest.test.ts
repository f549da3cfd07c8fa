import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { Screen } from "../../src/interactive/terminal/screen.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";
import { Editor } from "../../src/interactive/terminal/tui.ts";
import { TypingRest } from "../../src/interactive/terminal/typed-input.ts";
import { HeadlessTerminal } from "./headless-terminal.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A user who types, and the questions that wait for a rest. */
function typing() {
  const terminal = new HeadlessTerminal();
  const screen = new Screen({ terminal, theme: makeTheme("none") });
  const rest = new TypingRest(screen);
  screen.start(new Editor(screen.tui, screen.theme.editor));
  onTestFinished(() => screen.stop());
  const question = (signal = new AbortController().signal) => {
    const asked = { isOpen: false };
    void rest.reached(signal).then(() => {
      asked.isOpen = true;
    });
    return asked;
  };
  return { terminal, question };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test("a question comes at once if nobody types", async () => {
  const { terminal, question } = typing();
  terminal.press("down");
  const asked = question();
  await pass(0);
  expect(asked.isOpen).toBe(true);
});

test("each letter moves it, and so does a paste", async () => {
  const { terminal, question } = typing();
  terminal.type("a");
  const asked = question();
  await pass(500);
  terminal.type("b");
  await pass(500);
  terminal.paste("many words");
  await pass(599);
  expect(asked.isOpen).toBe(false);
  await pass(1);
  expect(asked.isOpen).toBe(true);
});

test("a question comes at once after a message was sent", async () => {
  const { terminal, question } = typing();
  terminal.type("do it");
  const asked = question();
  await pass(100);
  terminal.press("enter");
  await pass(20);
  expect(asked.isOpen).toBe(true);
});

test("constant typing delays each question only for its own time", async () => {
  const { terminal, question } = typing();
  terminal.type("a");
  const first = question();
  await pass(500);
  terminal.type("b");
  const second = question();
  for (let at = 0; at < 5; at += 1) {
    await pass(499);
    terminal.type("c");
  }
  expect([first.isOpen, second.isOpen]).toEqual([false, false]);
  await pass(5);
  expect([first.isOpen, second.isOpen]).toEqual([true, false]);
  await pass(499);
  expect(second.isOpen).toBe(false);
  await pass(1);
  expect(second.isOpen).toBe(true);
});

test("closing the queue releases waiting questions", async () => {
  const { terminal, question } = typing();
  const end = new AbortController();
  terminal.type("a");
  const asked = question(end.signal);
  end.abort();
  await pass(0);
  expect(asked.isOpen).toBe(true);
});
