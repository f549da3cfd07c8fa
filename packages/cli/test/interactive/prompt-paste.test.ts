import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { PromptEditor } from "../../src/interactive/prompt/prompt-editor.ts";
import { Screen } from "../../src/interactive/terminal/screen.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";
import { HeadlessTerminal } from "./headless-terminal.ts";

const hostile =
  "a\x1b[31mred\x1b[0m\x9b2J\x07 b\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\x7f\tc";
const clean = "ared2J blink\tc";

function makeEditor(): PromptEditor {
  const screen = new Screen({ terminal: new HeadlessTerminal(), theme: makeTheme("none") });
  return new PromptEditor(screen);
}

const paste = (editor: PromptEditor, text: string) => editor.handleInput(`\x1b[200~${text}\x1b[201~`);

test("a paste keeps its lines, and loses its colours and what would steer the terminal", () => {
  const editor = makeEditor();
  paste(editor, `${hostile}\r\nsecond\rthird`);
  expect(editor.getText()).toBe(`${clean}\nsecond\nthird`);
});

test("a paste of sequences that never end is clean too", () => {
  const editor = makeEditor();
  paste(editor, "\x1b[".repeat(50_000) + "\x1b]0;".repeat(20_000) + "\x1bP1".repeat(20_000));
  expect(editor.getExpandedText()).toBe("[".repeat(50_000) + "]0;".repeat(20_000) + "P1".repeat(20_000));
});

test("a beginning without an end does not swallow the lines below it", () => {
  const editor = makeEditor();
  paste(editor, "one\x1b]two\nthree\x07");
  expect(editor.getText()).toBe("one]two\nthree");
});

test("a new line that tmux writes as a key stays one", () => {
  const editor = makeEditor();
  paste(editor, "one\x1b[106;5utwo");
  expect(editor.getText()).toBe("one\ntwo");
});

test("offered, returned and remembered text cannot steer the terminal", () =>
  everyRow([
    ["offered", (editor: PromptEditor) => editor.offerText(hostile)],
    ["given back", (editor: PromptEditor) => editor.restoreText(hostile)],
    [
      "of the history",
      (editor: PromptEditor) => {
        editor.addToHistory(hostile);
        editor.handleInput("\x1b[A");
      },
    ],
  ] as const)(([, fill]) => {
    const editor = makeEditor();
    fill(editor);
    expect(editor.getText()).toBe(clean);
  }));

test("a dropped image is named, however the terminal writes its path", () => {
  const { plain, spaced } = images();
  const named = (text: string) => {
    const editor = makeEditor();
    paste(editor, text);
    return editor.getText();
  };
  expect(named(plain)).toBe(`@${plain} `);
  expect(named(`${plain} `)).toBe(`@${plain} `);
  expect(named(`'${spaced}'`)).toBe(`@"${spaced}" `);
  expect(named(spaced.replaceAll(" ", "\\ "))).toBe(`@"${spaced}" `);
  expect(named(pathToFileURL(spaced).href)).toBe(`@"${spaced}" `);
  const odd = join(dirname(plain), `it's [1] "x".png`);
  copyFileSync(plain, odd);
  expect(named(`'${odd.replaceAll("'", "'\\''")}'`)).toBe(`@"${odd}" `);
  expect(named(`"${odd.replaceAll('"', '\\"')}"`)).toBe(`@"${odd}" `);
  expect(named(odd.replaceAll(/[ '"[\]]/g, "\\$&"))).toBe(`@"${odd}" `);
});

test("text that is no dropped image stays as it was pasted", () =>
  everyRow([
    "/no/such/shot.png",
    "see /tmp/shot.png",
    "file:///%ZZ.png",
    "/tmp",
    `/${"x".repeat(5_000)}.png`,
    "a.png",
  ])((text) => {
    const editor = makeEditor();
    paste(editor, text);
    expect(editor.getExpandedText()).toBe(text);
  }));

test("a dropped image stands apart from a word before it, and is a path behind a command", () => {
  const { plain } = images();
  const typed = (before: string) => {
    const editor = makeEditor();
    for (const letter of before) editor.handleInput(letter);
    paste(editor, plain);
    return editor.getText();
  };
  expect(typed("see")).toBe(`see @${plain} `);
  expect(typed("see ")).toBe(`see @${plain} `);
  expect(typed("!file ")).toBe(`!file ${plain}`);
  expect(typed("/export ")).toBe(`/export ${plain}`);
});

function images() {
  const folder = join(mkdtempSync(join(tmpdir(), "bonsai-drop-")), "my shots");
  mkdirSync(folder);
  const plain = join(folder, "..", "shot.png");
  const spaced = join(folder, "a shot.PNG");
  for (const file of [plain, spaced]) writeFileSync(file, "");
  return { plain, spaced };
}

test("a tab is kept, drawn as blanks, and deleted by one key", () => {
  const text = "all:\n\tmake x\ty";
  const fills: ((editor: PromptEditor) => void)[] = [
    (editor) => paste(editor, text),
    (editor) => paste(editor, text.replaceAll("\t", "\x1b[105;5u")),
    (editor) => editor.paste(text),
    (editor) => editor.setText(text),
    (editor) => editor.restoreText(text),
    (editor) => {
      editor.addToHistory(text);
      editor.handleInput("\x1b[A");
    },
  ];
  for (const fill of fills) {
    const editor = makeEditor();
    fill(editor);
    expect([editor.getText(), editor.getExpandedText()]).toEqual([text, text]);
    const drawn = editor.render(40).join("\n");
    expect(drawn).toContain("    make x    y");
    expect(drawn).not.toMatch(/[\t\ue000-\uf8ff]/);
  }
  const editor = makeEditor();
  paste(editor, "a\tb");
  for (const key of ["\x7f", "\x7f"]) editor.handleInput(key);
  expect(editor.getText()).toBe("a");
});

test("sends the tabs of a long paste", () => {
  const editor = makeEditor();
  const text = Array.from({ length: 30 }, (_, at) => `${at}\tx`).join("\n");
  paste(editor, text);
  expect(editor.getExpandedText()).toBe(text);
});
