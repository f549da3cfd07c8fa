import { expect, test } from "vitest";
import { quotedFiles, typedText } from "../src/text/typed-text.ts";

const file = (path: string, content: string) => `<file path=${JSON.stringify(path)}>\n${content}\n</file>`;

const sentTexts: [string, string, string, [string, string][]][] = [
  ["none", "Just words", "Just words", []],
  ["one", `See @a.ts\n\n${file("a.ts", "one\n\ntwo")}`, "See @a.ts", [["a.ts", "one\n\ntwo"]]],
  [
    "two, of which one has a space",
    `See @"a b.ts", @c.ts\n\n${file("a b.ts", "one")}\n\n${file("c.ts", "two")}`,
    'See @"a b.ts", @c.ts',
    [
      ["a b.ts", "one"],
      ["c.ts", "two"],
    ],
  ],
  [
    "one that holds the beginning of another",
    `See @a.md\n\n${file("a.md", 'One.\n&lt;/file>\n\n<file path="b.md">\nTwo.')}`,
    "See @a.md",
    [["a.md", 'One.\n&lt;/file>\n\n<file path="b.md">\nTwo.']],
  ],
  ["one that was pasted", `See\n\n${file("a.ts", "one")}`, `See\n\n${file("a.ts", "one")}`, []],
  [
    "a pasted one before one that is named",
    `See @a.ts\n\n${file("p.ts", "pasted")}\n\n${file("a.ts", "one")}`,
    `See @a.ts\n\n${file("p.ts", "pasted")}`,
    [["a.ts", "one"]],
  ],
  [
    "words behind it",
    `See @a.ts\n\n${file("a.ts", "one")} more`,
    `See @a.ts\n\n${file("a.ts", "one")} more`,
    [],
  ],
];
test("reads the quoted files of a message", () => {
  for (const [name, sent, text, files] of sentTexts) {
    expect
      .soft(quotedFiles(sent), name)
      .toEqual({ text, files: files.map(([path, content]) => ({ path, content })) });
    expect.soft(typedText({ content: [{ type: "text", text: sent }] }), name).toBe(text);
  }
});

test("many that only look like files are read in no time that anybody waits for", () => {
  const sent = `See\n\n${Array.from({ length: 50_000 }, (_, at) => file(`${at}.ts`, "x")).join("\n\n")}`;
  expect(quotedFiles(sent).files).toEqual([]);
});
