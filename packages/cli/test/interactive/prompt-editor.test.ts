import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { afterEach, expect, test } from "vitest";
import { PromptEditor } from "../../src/interactive/prompt/prompt-editor.ts";
import { PromptHistory } from "../../src/interactive/prompt/prompt-history.ts";
import { keys } from "../../src/interactive/terminal/keys.ts";
import { Screen } from "../../src/interactive/terminal/screen.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";
import { visibleWidth } from "../../src/interactive/terminal/tui.ts";
import { agentProject, says } from "../call/agent-project.ts";
import { openInteractive } from "./harness.ts";
import { HeadlessTerminal } from "./headless-terminal.ts";

afterEach(() => keys.bind({}));

function makeEditor(): PromptEditor {
  const screen = new Screen({ terminal: new HeadlessTerminal(), theme: makeTheme("none") });
  return new PromptEditor(screen);
}

test("a text that is offered fills an empty editor only", () => {
  const editor = makeEditor();
  expect(editor.offerText("of the tree")).toBe(true);
  expect(editor.getText()).toBe("of the tree");
  expect(editor.offerText("another")).toBe(false);
  expect(editor.getText()).toBe("of the tree");
  editor.handleInput("\x1b[H");
  editor.handleInput("\x1b[A");
  expect(editor.getText()).toBe("another");
});

test("returned text goes before newer text, with pastes in full", () => {
  const editor = makeEditor();
  const long = Array.from({ length: 30 }, (_, at) => `line ${at}`).join("\n");
  editor.handleInput(`\x1b[200~${long}\x1b[201~`);
  expect(editor.getText()).not.toContain("line 29");
  editor.restoreText("one", "two");
  expect(editor.getExpandedText()).toBe(`one\n\ntwo\n\n${long}`);
});

test("cleared text is one key up", () => {
  const editor = makeEditor();
  editor.setText("half a thought");
  editor.clear();
  expect(editor.isEmpty).toBe(true);
  editor.handleInput("\x1b[A");
  expect(editor.getText()).toBe("half a thought");
});

test("a draft is one key up where a prompt of the history was sent instead", () => {
  const editor = makeEditor();
  const sent: string[] = [];
  editor.onSubmit = (text) => {
    sent.push(text);
    editor.addToHistory(text);
  };
  editor.addToHistory("older");
  for (const letter of "draft") editor.handleInput(letter);
  editor.handleInput("\x1b[H");
  editor.handleInput("\x1b[A");
  expect(editor.getText()).toBe("older");
  editor.handleInput("\r");
  expect(sent).toEqual(["older"]);
  editor.handleInput("\x1b[A");
  expect(editor.getText()).toBe("draft");
});

test("a draft comes back below the history, and is not remembered for that", () => {
  const editor = makeEditor();
  editor.addToHistory("older");
  for (const letter of "draft") editor.handleInput(letter);
  for (const key of ["\x1b[H", "\x1b[A", "\x1b[B"]) editor.handleInput(key);
  expect(editor.getText()).toBe("draft");
  editor.setText("");
  editor.handleInput("\x1b[A");
  expect(editor.getText()).toBe("older");
});

test("text that may contain a key is not kept", () => {
  const editor = makeEditor();
  editor.addToHistory("older");
  editor.setText("/login anthropic secret-key");
  editor.offerText("another");
  editor.clear();
  editor.handleInput("\x1b[A");
  editor.handleInput("\x1b[A");
  expect(editor.getText()).toBe("older");
});

test("a thousand prompts can be reached, and what was typed comes back below them", () => {
  const editor = makeEditor();
  for (let at = 0; at < 1_200; at += 1) editor.addToHistory(`prompt ${at}`);
  for (let at = 0; at < 1_100; at += 1) editor.handleInput("\x1b[A");
  expect(editor.getText()).toBe("prompt 200");
});

test("prompts sent before the history loaded follow its entries", () => {
  const home = mkdtempSync(join(tmpdir(), "bonsai-editor-"));
  writeFileSync(join(home, "history.jsonl"), '{"text":"older"}\n');
  const editor = makeEditor();
  editor.addToHistory("early");
  editor.useHistory(new PromptHistory(home, expect.unreachable));
  editor.handleInput("\x1b[A");
  expect(editor.getText()).toBe("early");
  editor.handleInput("\x1b[A");
  expect(editor.getText()).toBe("older");
  expect(readFileSync(join(home, "history.jsonl"), "utf8")).toBe('{"text":"older"}\n{"text":"early"}\n');
});

test("the rule above the editor is labelled at any width", () =>
  everyRow([
    ["!ls", " shell "],
    ["!!ls", " shell, hidden from the model "],
  ] as const)(([text, label]) => {
    const editor = makeEditor();
    editor.setText(text);
    expect(editor.render(60)[0]).toContain(label);
    for (let width = 1; width < 40; width += 1)
      for (const line of editor.render(width).slice(0, 1)) expect(visibleWidth(line)).toBe(width);
  }));

test("prompts of earlier sessions come back by key; a key to log in with is in no file", async () => {
  const project = agentProject(says("Good."));
  writeFileSync(join(project.home, "history.jsonl"), '{"text":"from before"}\n');
  const { terminal } = openInteractive({ project });
  await terminal.until("thinking off");
  terminal.press("up");
  await terminal.until("from before");
  terminal.press("down");
  terminal.type("/login secret-key\n");
  terminal.press("ctrl+c");
  terminal.type("hello\n");
  await terminal.until("Good.");
  expect(readFileSync(join(project.home, "history.jsonl"), "utf8")).toBe(
    '{"text":"from before"}\n{"text":"hello"}\n',
  );
});

test("commands are completed by their beginning", async () => {
  const { terminal } = openInteractive();
  await terminal.until("thinking off");
  terminal.type("/rel");
  await terminal.until(/reload +Reload/);
  terminal.press("tab");
  await terminal.until((screen) => screen.includes("/reload") && !/reload +Reload/.test(screen));
});

test("files are completed behind an @, quoted where they have to be", async () => {
  const project = agentProject(says("Good."), { "notes about it.md": "", "other.ts": "" });
  mkdirSync(join(project.cwd, "src"));
  writeFileSync(join(project.cwd, "src", "prompt.ts"), "");
  const { terminal } = openInteractive({ project });
  await terminal.until("thinking off");
  terminal.type("read @prm");
  await terminal.until("src/prompt.ts");
  terminal.press("tab");
  await terminal.until("read @src/prompt.ts");
  terminal.type("and @abou");
  await terminal.until(/notes about it\.md$/m);
  terminal.press("tab");
  await terminal.until('@"notes about it.md"');
});

test("/help shows commands and the keys as they are called now, and Esc leaves it", async () => {
  const project = agentProject(says("Good."));
  writeFileSync(join(project.home, "keybindings.json"), '{"expand": "ctrl+t", "nothing": "f1"}');
  const { terminal } = openInteractive({ project, rows: 110, columns: 100 });
  await terminal.until(/"nothing" is not an action/);
  await terminal.until("thinking off");
  terminal.type("/help");
  await terminal.until(/help +Show commands/);
  terminal.press("enter");
  const screen = await terminal.until("Change keys in");
  expect(screen).toMatch(/Ctrl-T +Expand or fold/);
  expect(screen).toMatch(/\/quit +\S/);
  terminal.press("esc");
  await terminal.until((seen) => !seen.includes("Change keys in"));
});
