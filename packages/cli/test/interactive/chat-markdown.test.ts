import { stripVTControlCharacters } from "node:util";
import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { PartBlock } from "../../src/interactive/chat/answer-view.ts";
import { CodeHighlighter } from "../../src/interactive/chat/code-highlighter.ts";
import { MarkdownText, markdownChunks } from "../../src/interactive/chat/markdown-text.ts";
import { makeTheme } from "../../src/interactive/terminal/theme.ts";
import { Markdown } from "../../src/interactive/terminal/tui.ts";

const looks = { theme: makeTheme("none"), highlighter: new CodeHighlighter(() => {}) };
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
  `- ${words}\n- two\n- ${words}\n  - nested\n- ${words}\nlazy\n- last`,
  `- ${words}\n\n- loose, ${words}\n\n- last`,
  `7. ${words}\n8. ${words}\n9. ${words}\n10) other\n11) ${words}\n12) more`,
  `1. ${words}\n1. ${words}\n1. all are one`,
  `${words}\n2. no list\n3. none`,
  `* ${words}\n* ${words}\n- another\n- ${words}`,
  `1. ${words}\n\n   > quoted\n\n2. ${words}\n# Heading\n3. ${words}\n4. ${words}`,
  "\\[ x^2 \\]",
  `$$\na\n\n${words}\n\nb\n$$`,
  `- \`\`\`\n- ${words}\n- ${words}\n  \`\`\`\n- after code`,
);

test("Invariant: a text drawn in chunks reads as the text drawn whole", () => {
  const law = fc.property(fc.array(block, { minLength: 1, maxLength: 12 }), (blocks) => {
    const text = blocks.join("\n\n").trim();
    const whole = new Markdown(text, 1, 0, looks.theme.markdown).render(60);
    const chunked = new MarkdownText(looks).lines(text, 60);
    expect(said(chunked)).toEqual(said(whole));
  });
  fc.assert(law);
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

test("an open fence and formulas are not cut", () => {
  const paragraphs = Array.from({ length: 4 }, () => words).join("\n\n");
  expect(markdownChunks(`\`\`\`\n${paragraphs}`)).toHaveLength(1);
  expect(markdownChunks(`$$\na\n\n${paragraphs}`)).toHaveLength(1);
  expect(markdownChunks(`\\[a\n\n${paragraphs}`)).toHaveLength(1);
  expect(markdownChunks(`In \`/\\[x\\]$$/\` it says\n\n${paragraphs}`).length).toBeGreaterThan(1);
});

test("text with excessive nesting is shown as it was written", () =>
  everyRow([
    ["quotes", `${">".repeat(3_000)}deep`],
    ["lists", `${"- ".repeat(3_000)}deep`],
    ["both", `${"> - 1. ".repeat(3_000)}deep`],
    ["formulas", `$${"\\frac{".repeat(3_000)}$ deep`],
    ["emphasis without an end", `${"*a ".repeat(100_000)}deep`],
    ["a line of a million characters", `${"word ".repeat(200_000)}deep`],
  ])(([_, text]) => {
    const lines = new MarkdownText(looks).lines(`Before\n\n${text}`, 60);
    expect(lines.at(-1)).toContain("deep");
    expect(lines.join("").replace(/\s/g, "")).toContain(text.slice(-100).replace(/\s/g, ""));
  }));

test("quotes within quotes, a long table and long code are read as Markdown", () => {
  const code = "const a = 1;\n".repeat(2_000);
  const table = `| a | b |\n|---|---|\n${"| one | two |\n".repeat(1_000)}`;
  const lines = new MarkdownText(looks).lines(
    `> > > **deep**\n\n\`\`\`ts\n${code}\`\`\`\n\n${table}\n**end**`,
    60,
  );
  expect(lines.join("\n")).not.toMatch(/\*\*|\|---\|/);
});

test("headings of all levels are drawn without hashes, with and without colours", () =>
  everyRow(["none", "dark"] as const)((scheme) => {
    const text = "### Third `code`\n\nText\n\n###### Sixth\n\n#\n\n#### \n\n```\n### code\n```";
    const lines = new MarkdownText({ ...looks, theme: makeTheme(scheme) }).lines(text, 60);
    const seen = lines.map((line) => stripVTControlCharacters(line).trim()).filter(Boolean);
    expect(seen).toEqual(["Third code", "Text", "Sixth", "```", "### code", "```"]);
    expect(lines[0]).toContain("\u001b[1m");
  }));

const shown = (text: string) =>
  said(new MarkdownText(looks).lines(text, 60).map((line) => stripVTControlCharacters(line).slice(1)));

test("link definitions stay visible as they were written", () =>
  everyRow([
    ["[^1]: note", ["[^1]: note"]],
    ["A claim [^1].\n\n[^1]: note", ["A claim [^1].", "[^1]: note"]],
    ["[INFO]: done", ["[INFO]: done"]],
    ["[INFO] began\n\n[INFO]: done\n[WARN]: slow", ["[INFO] began", "[INFO]: done", "[WARN]: slow"]],
    ["- [INFO]: done\n- > [x]: y", ["- [INFO]: done", "- │ [x]: y"]],
    ["[INFO]:\ndone", ["[INFO]:", "done"]],
    ["[later]: https://example.com/a", ["[later]: https://example.com/a"]],
    ["```\n[INFO]: done\n```", ["```", "  [INFO]: done", "```"]],
    ["[the page][later]\n\n[later]: ./a.md", ["[the page][later]", "[later]: ./a.md"]],
  ])(([text, lines]) => {
    expect(shown(text)).toEqual(lines);
  }));

test("an answer of 200,000 lines is drawn", () => {
  const text = "word\n".repeat(200_000);
  const block = new PartBlock(looks);
  block.set({ type: "text", text });
  expect(block.render(60).length).toBeGreaterThan(100_000);
});
