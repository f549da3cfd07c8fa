import { adversarialTexts, everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { mentionsIn } from "../../src/call/file-mentions.ts";
import { outputLines, shownLine } from "../../src/interactive/chat/chat-text.ts";
import { diffLines } from "../../src/interactive/chat/diff-lines.ts";
import { closerOf, isReadableMarkdown, markdownChunks } from "../../src/interactive/chat/markdown-text.ts";
import { printable, printableLines } from "../../src/views/terminal-text.ts";

test("draws every adversarial text in one reading", () =>
  everyRow(adversarialTexts())(([_name, text]) => {
    expect(diffLines(text).length).toBeGreaterThan(0);
    expect(outputLines(text).map(shownLine).length).toBeGreaterThan(0);
    expect(markdownChunks(text).length).toBeGreaterThan(0);
    isReadableMarkdown(text);
    closerOf(text);
    printableLines(text);
    printable(text);
    mentionsIn(text, () => false);
  }));

test("carriage returns before a newline are no part of a line", () => {
  expect(outputLines("a\r\r\nb\r\n\r\nc\rd\n")).toEqual(["a", "b", "", "c\rd"]);
});
