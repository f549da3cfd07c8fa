import fc from "fast-check";
import { expect, test } from "vitest";
import { CodeHighlighter } from "../../src/interactive/chat/code-highlighter.ts";
import { markdownChunks } from "../../src/interactive/chat/markdown-chunks.ts";
import { MarkdownText } from "../../src/interactive/chat/markdown-text.ts";
import { Markdown } from "../../src/interactive/terminal/tui.ts";
import { makeTheme } from "../../src/interactive/theme/make-theme.ts";

const looks = {
  theme: makeTheme("none"),
  highlighter: new CodeHighlighter(() => {}),
  expandKey: () => "",
};
const words = "Some words of a paragraph that is long enough to count. ".repeat(6).trim();

const block = fc.constantFrom(
  words,
  `${words}\nand a second line`,
  "## A heading",
  "- one\n- two\n\n- three, loose\n\n  with a paragraph of its own",
  "1. one\n2. two\n   ```\n   code\n\n   code\n   ```",
  "> quoted\n>\n> and on",
  `\`\`\`ts\nconst a = 1;\n\n${"const b = 2;\n\n".repeat(30)}Text in code\n\`\`\``,
  "~~~\n```\n\nnot the end\n~~~",
  "| a | b |\n|---|---|\n| 1 | 2 |",
  "    indented code",
  "***",
);

test("Invariant: a text drawn in chunks reads as the text drawn whole", () => {
  const law = fc.property(fc.array(block, { minLength: 1, maxLength: 12 }), (blocks) => {
    const text = blocks.join("\n\n").trim();
    const whole = new Markdown(text, 1, 0, looks.theme.markdown).render(60);
    const chunked = new MarkdownText(looks).lines(text, 60);
    expect(said(chunked)).toEqual(said(whole));
  });
  fc.assert(law, { numRuns: 100 });
});

/** Empty lines between blocks are the library's choice, and of no weight. */
function said(lines: readonly string[]): string[] {
  return lines.map((line) => line.trimEnd()).filter((line) => line !== "");
}

test("a growing text changes its last chunk only", () => {
  const text = Array.from({ length: 8 }, () => words).join("\n\n");
  const before = markdownChunks(text);
  const after = markdownChunks(`${text}\n\nAnd more`);
  expect(before.length).toBeGreaterThan(2);
  expect(after.slice(0, before.length - 1)).toEqual(before.slice(0, -1));
});

test("an open fence, definitions of links and formulas are not cut", () => {
  const paragraphs = Array.from({ length: 4 }, () => words).join("\n\n");
  expect(markdownChunks(`\`\`\`\n${paragraphs}`)).toHaveLength(1);
  expect(markdownChunks(`${paragraphs}\n\n[x]: http://example.com`)).toHaveLength(1);
  expect(markdownChunks(`$$\na\n\nb\n$$\n\n${paragraphs}`)).toHaveLength(1);
});
