import { expect, test } from "vitest";
import { outputLines, shownLine } from "../../src/interactive/chat/chat-text.ts";
import { styledLines } from "../../src/interactive/chat/code-highlighter.ts";
import { diffLines, gutterColumns } from "../../src/interactive/chat/diff-lines.ts";
import { imageMarker } from "../../src/interactive/chat/image-block.ts";
import { changeOf, longCommand, writtenText } from "../../src/interactive/chat/tool-block.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";

test("output is shown as a terminal shows it in the end, without control sequences", () => {
  const lines = (output: string) => outputLines(output).map(shownLine);
  expect(lines("a\r\nb\n\n")).toEqual(["a", "b"]);
  expect(lines(" 10%\r 50%\r100%\ndone\r")).toEqual(["100%", "done"]);
  expect(lines("\x1b[1;31mred\x1b[0m \x1b[?25lno cursor\x1b]0;title\x07 \x00\x1b[2J!")).toEqual([
    "red no cursor ␀!",
  ]);
  expect(lines("a\tb\x1b")).toEqual(["a  b␛"]);
  expect(lines("")).toEqual([]);
  expect(lines("x".repeat(1_000_000))[0]).toHaveLength(4_000);
});

test("an image is shown by its kind and size", () => {
  const data = Buffer.alloc(34_000).toString("base64");
  expect(imageMarker({ type: "image", data, mimeType: "image/png" })).toBe("[image image/png 34 kB]");
  expect(imageMarker({ type: "image" })).toBe("[image]");
});

test("a difference is shown line by line, without control sequences", () => {
  const diff = "@@ -1,2 +1,2 @@\n same\n-old\x1b[2J\n+new\tx\n\\ No newline at end of file\n";
  expect(diffLines(diff)).toEqual([
    { kind: "same", text: " same", number: 1 },
    { kind: "removed", text: "-old␛[2J", number: 2 },
    { kind: "added", text: "+new  x", number: 2 },
    { kind: "gap", text: "no newline at the end of the file" },
  ]);
});

test("the parts of a difference have a gap between them, and their own numbers", () => {
  const lines = diffLines("@@ -9,1 +9,2 @@\n a\n+b\n@@ -1200 +1201 @@ function f()\n-c\n+d");
  expect(lines.slice(2)).toEqual([
    { kind: "gap", text: "⋮ function f()" },
    { kind: "removed", text: "-c", number: 1200 },
    { kind: "added", text: "+d", number: 1201 },
  ]);
  expect(gutterColumns(lines, 77)).toBe(5);
  expect(gutterColumns(lines, 20)).toBe(0);
  expect(gutterColumns(diffLines("-a\n+b"), 117)).toBe(0);
});

test("white space at the end of a changed line is visible", () => {
  const texts = (diff: string) => diffLines(diff).map(({ text }) => text);
  expect(texts("-a  \n+a\t\n b  \n+\n+ \n")).toEqual(["-a··", "+a→", " b", "+", "+·"]);
  expect(texts("-a\r\n+a\n c\r")).toEqual(["-a␍", "+a", " c"]);
  expect(texts("-a\n+a\n\\ No newline at end of file")).toEqual([
    "-a",
    "+a",
    "no newline at the end of the file",
  ]);
});

test("only details that count lines are a change", () => {
  expect(changeOf({ path: "a", diff: "+x", added: 1, removed: 0 })).toEqual({
    diff: "+x",
    added: 1,
    removed: 0,
  });
  for (const details of [undefined, null, "x", { diff: "+x" }, { added: "1", removed: 0 }])
    expect(changeOf(details)).toBeUndefined();
});

test("highlighted code is read as pieces, each in its innermost scope", () => {
  const html =
    '<span class="hljs-keyword">if</span> (a &lt; <span class="hljs-string">&quot;<span class="hljs-subst">b</span>&quot;</span>)';
  const mark = (name: string) => (text: string) => `[${name} ${text}]`;
  const style = { ...makeTheme("none").style, syntaxKeyword: mark("keyword"), syntaxString: mark("string") };
  expect(styledLines(html, style)).toEqual(['[keyword if] (a < [string "]b[string "])']);
});

test("a call shows the text of a new file and the rest of a long command", () => {
  expect(writtenText({ path: "a", content: "x\n" }, { created: true })).toBe("x\n");
  expect(writtenText({ path: "a", content: "x\n" }, { created: false })).toBeUndefined();
  expect(writtenText(undefined, null)).toBeUndefined();
  expect(longCommand({ command: "cd a\nls\x1b" })).toEqual(["cd a", "ls␛"]);
  expect(longCommand({ command: "ls\n" })).toEqual([]);
  expect(longCommand("ls")).toEqual([]);
});
