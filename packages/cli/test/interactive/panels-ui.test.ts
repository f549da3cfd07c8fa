import { tmpdir } from "node:os";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, onTestFinished, test } from "vitest";
import { extensionUi } from "../../src/interactive/extension-views/extension-ui.ts";
import { askText } from "../../src/interactive/panels/ask.ts";
import { Screen } from "../../src/interactive/terminal/screen.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";
import { ThemeControl } from "../../src/interactive/terminal/theme-control.ts";
import { Editor, visibleWidth } from "../../src/interactive/terminal/tui.ts";
import { HeadlessTerminal } from "./headless-terminal.ts";

function open(size: { columns?: number; rows?: number } = {}) {
  const terminal = new HeadlessTerminal(size);
  const screen = new Screen({ terminal, theme: makeTheme("none") });
  const editor = new Editor(screen.tui, screen.theme.editor);
  const notices: string[] = [];
  const end = new AbortController();
  const unused = () => expect.unreachable();
  const ui = extensionUi({
    ...{ screen, cwd: tmpdir(), signal: end.signal },
    themes: new ThemeControl(screen, "auto"),
    editor: Object.assign(editor, { takeEditor: unused }),
    addAutocompleteProvider: unused,
    working: { setWorkingMessage: unused, setWorkingIndicator: unused, setWorkingVisible: unused },
    chat: { isExpanded: false, toggleExpanded: unused, showEntry: unused, setThinkingLabel: unused },
    notify: (message) => notices.push(message),
  });
  screen.start(editor);
  onTestFinished(() => screen.stop());
  return { terminal, screen, editor, ui, notices, end };
}

test("a choice is searched by typing; the Enter that may end a prompt takes nothing, the next does", async () => {
  const { terminal, ui } = open();
  const answer = ui.select("Which colour?", ["red", "green", "blue"]);
  await terminal.until("Which colour?");
  terminal.type("blu");
  const screen = await terminal.until("1/1 of 3");
  expect(screen).not.toContain("green");
  expect(screen).toContain("Enter Enter choose");
  terminal.press("enter");
  expect(await terminal.until((drawn) => !drawn.includes("Enter Enter"))).toContain("Enter choose");
  terminal.press("enter");
  expect(await answer).toBe("blue");
});

test("one Enter takes a choice that was moved to after a search", async () => {
  const { terminal, ui } = open();
  const answer = ui.select("Which colour?", ["red", "green", "blue"]);
  await terminal.until("Which colour?");
  terminal.type("e");
  terminal.press("down", "enter");
  expect(await answer).toBe("green");
});

test("Esc chooses nothing, keeps the typed text, and returns words without a match to the editor, but not a search", async () => {
  const { terminal, ui } = open();
  terminal.type("and ");
  const answer = ui.select("Which?", ["one", "two"]);
  await terminal.until("Which?");
  terminal.type("please go on\n");
  await terminal.until("No matches.");
  terminal.press("esc");
  expect(await answer).toBeUndefined();
  expect(ui.getEditorText()).toBe("and please go on");
  await terminal.until("and please go on");
  const searched = ui.select("Which now?", ["one", "two"]);
  await terminal.until("Which now?");
  terminal.type("tw");
  terminal.press("esc");
  expect(await searched).toBeUndefined();
  expect(ui.getEditorText()).toBe("and please go on");
});

test("two options of the same words can both be chosen", async () => {
  const { terminal, ui } = open();
  const answer = ui.select("Which?", ["same", "same"]);
  await terminal.until("1/2");
  terminal.press("down");
  await terminal.until("2/2");
  terminal.press("enter");
  expect(await answer).toBe("same");
});

test("a question takes an answer only from a choice and Enter", () =>
  everyRow([
    [["y", "enter"], true],
    [["tab", "enter"], true],
    [["n", "enter"], false],
    [["y", "n", "esc"], false],
    [["a", "y", "enter", "enter"], false],
    [["enter"], false],
    [["esc"], false],
  ])(async ([keys, expected]) => {
    const { terminal, ui } = open();
    const answer = ui.confirm("Really?", "It cannot be undone.");
    await terminal.until("It cannot be undone.");
    terminal.press(...keys);
    expect(await answer).toBe(expected);
  }));

test("a letter alone answers no unexpected question, and a typed text is sent from the editor", async () => {
  const { terminal, editor, ui } = open();
  const sent: string[] = [];
  editor.onSubmit = (text) => sent.push(text);
  terminal.type("Fix it, ");
  const answer = ui.confirm("Run rm -rf?", "");
  await terminal.until("Run rm -rf?");
  terminal.type("you see\n");
  await terminal.settle();
  expect(terminal.screen()).toContain("Run rm -rf?");
  terminal.press("esc");
  expect(await answer).toBe(false);
  expect(sent).toEqual(["Fix it, you see"]);
});

test("a question waits until the user stops typing or sends", async () => {
  const { terminal, editor, ui } = open();
  const sent: string[] = [];
  editor.onSubmit = (text) => sent.push(text);
  terminal.type("do it");
  const answer = ui.select("Allow it?", ["Yes", "No"]);
  await terminal.settle();
  terminal.press("enter");
  await terminal.until("Allow it?");
  expect(sent).toEqual(["do it"]);
  terminal.press("esc");
  expect(await answer).toBeUndefined();
});

test("typing continues in the panel below, if that was in use", async () => {
  const { terminal, screen, editor, ui } = open();
  const key = askText(screen, { title: "The key?", isSecret: true });
  await terminal.until("The key?");
  terminal.type("sk-1");
  const answer = ui.confirm("Really?", "");
  await terminal.until("Really?");
  terminal.type("23");
  terminal.press("esc");
  expect(await answer).toBe(false);
  terminal.type("4\n");
  expect(await key).toBe("sk-1234");
  expect(editor.getText()).toBe("");
  expect(terminal.written.join("")).not.toContain("sk-");
});

test("the colours of an extension's own words are left out", async () => {
  const { terminal, ui } = open();
  const answer = ui.select("\u001b[1mWhich?\u001b[0m", ["\u001b[31mred\u001b[0m one"]);
  expect(await terminal.until("› red one")).toContain(" Which?");
  terminal.press("enter");
  expect(await answer).toBe("\u001b[31mred\u001b[0m one");
});

test("a long message is scrolled, and every line of it can be read at 40 columns", async () => {
  const { terminal, ui } = open({ columns: 40, rows: 16 });
  const message = Array.from({ length: 60 }, (_, at) => `line ${at} of a long message 漢字漢字漢字漢字`).join(
    "\n",
  );
  const answer = ui.confirm(
    "A question whose title is much longer than the screen is wide, by far?",
    message,
  );
  const first = await terminal.until("more lines");
  expect(first).toContain("line 0 ");
  for (let page = 0; page < 40; page += 1) terminal.press("pageDown");
  await terminal.until("line 59 ");
  terminal.press("y", "enter");
  expect(await answer).toBe(true);
});

test("questions come one after the other", async () => {
  const { terminal, ui } = open();
  const first = ui.input("First?");
  const second = ui.confirm("Second?", "");
  expect(await terminal.until("First?")).not.toContain("Second?");
  terminal.type("hello\n");
  expect(await first).toBe("hello");
  await terminal.until("Second?");
  terminal.press("y", "enter");
  expect(await second).toBe(true);
});

test("a signal ends a question, and the end of the program those that wait", async () => {
  const { terminal, ui, end } = open();
  const stop = new AbortController();
  const first = ui.input("First?", undefined, { signal: stop.signal });
  const second = ui.select("Second?", ["one"]);
  const third = ui.editor("Third?");
  await terminal.until("First?");
  stop.abort();
  expect(await first).toBeUndefined();
  await terminal.until("Second?");
  end.abort();
  expect([await second, await third, await ui.confirm("Fourth?", "")]).toEqual([undefined, undefined, false]);
});

test("a question with a timeout ends by itself", async () => {
  const { ui } = open();
  expect(await ui.input("Quick?", undefined, { timeout: 1 })).toBeUndefined();
});

test("a text of several lines is written, from what stood there", async () => {
  const { terminal, ui } = open();
  const answer = ui.editor("The message?", "first line");
  await terminal.until("first line");
  terminal.press("shift+enter");
  terminal.type("second line");
  await terminal.until("second line");
  terminal.press("enter");
  expect(await answer).toBe("first line\nsecond line");
});

test("hostile words steer nothing and fit the screen", async () => {
  const { terminal, screen, ui } = open({ columns: 40 });
  const hostile = "\u001b[2Jgone\u0007\ttab \u202e漢".repeat(20);
  void ui.select(hostile, [hostile, "plain"]);
  await terminal.until("plain");
  for (const line of screen.tui.render(40)) expect(visibleWidth(line)).toBeLessThanOrEqual(40);
  expect(terminal.written.join("")).not.toContain("\u001b[2Jgone");
});

test("widgets stand above and below the editor, and go again", async () => {
  const { terminal, ui } = open();
  ui.setWidget("todo", ["\u001b[31m2 to do\u001b[0m"]);
  ui.setWidget("hint", ["a hint"], { placement: "belowEditor" });
  const screen = await terminal.until("a hint");
  expect(screen.indexOf("2 to do")).toBeLessThan(screen.indexOf("a hint"));
  ui.setWidget("todo", undefined);
  await terminal.until((seen) => !seen.includes("2 to do"));
});

test("statuses are kept by key, on one line each", () => {
  const { ui } = open();
  ui.setStatus("b", "second\nline");
  ui.setStatus("a", "\u001b[1mfirst\u001b[0m");
  expect(ui.extensionLines.statuses).toEqual(["first", "second line"]);
  ui.setStatus("a", undefined);
  expect(ui.extensionLines.statuses).toEqual(["second line"]);
});

test("extensions notify, name the window, and write into the editor", async () => {
  const { terminal, ui, notices } = open();
  ui.notify("Done.");
  ui.setTitle("my\u0007 work");
  ui.setEditorText("a draft");
  await terminal.until("a draft");
  expect([notices, ui.getEditorText()]).toEqual([["Done."], "a draft"]);
  expect(terminal.title).toBe("my␇ work");
});
