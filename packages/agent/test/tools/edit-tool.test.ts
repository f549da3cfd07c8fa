import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { textOf, toolFolder } from "./tool-folder.ts";

const source = "function one() {\n  return 1;\n}\n\nfunction two() {\n  return 2;\n}\n";

describe("edits that are made", () => {
  const edits: [string, string, Record<string, unknown>, string][] = [
    ["a passage", source, { oldText: "return 1;", newText: "return 11;" }, source.replace("1;", "11;")],
    ["a deletion", "a\nb\nc\n", { oldText: "b\n", newText: "" }, "a\nc\n"],
    ["the whole text", "a", { oldText: "a", newText: "b" }, "b"],
    ["what looks like a pattern", "a$1b", { oldText: "$1", newText: "$&$1" }, "a$&$1b"],
    [
      "several at once, in any order, each against the file as it was",
      "a b c",
      {
        edits: [
          { oldText: "c", newText: "a" },
          { oldText: "a", newText: "c" },
        ],
      },
      "c b a",
    ],
    ["an empty list beside a single edit", "a", { edits: [], oldText: "a", newText: "b" }, "b"],
    ["a list written as a string of JSON", "a", { edits: '[{"oldText":"a","newText":"b"}]' }, "b"],
    [
      "CRLF in the file",
      "a\r\nb\r\nc\r\n",
      { oldText: "a\nb\n", newText: "1\n2\n3\n" },
      "1\r\n2\r\n3\r\nc\r\n",
    ],
    ["CRLF in the call", "a\nb\nc\n", { oldText: "a\r\nb", newText: "1\r\n2" }, "1\n2\nc\n"],
    [
      "mixed line ends, others untouched",
      "a\r\nb\nc\r\nd\n",
      { oldText: "b\nc", newText: "x\ny" },
      "a\r\nx\ny\r\nd\n",
    ],
    [
      "the rare line end of the place",
      "a\r\nb\nc\nd\r\ne\r\nf\r\n",
      { oldText: "b\nc", newText: "x\ny" },
      "a\r\nx\ny\nd\r\ne\r\nf\r\n",
    ],
    ["a byte-order mark", "\ufeffa\n", { oldText: "a", newText: "b" }, "\ufeffb\n"],
    [
      "trailing whitespace in the file",
      "a  \nb\t\nc\n",
      { oldText: "a\nb\nc", newText: "a\nB\nc" },
      "a  \nB\nc\n",
    ],
    ["trailing whitespace in the call", "a\nb\n", { oldText: "a  \nb", newText: "a  \nc" }, "a\nc\n"],
    [
      "typographic quotes, kept where unchanged",
      "say “hi”\nend ‘x’\n",
      { oldText: "say \"hi\"\nend 'x'", newText: "say \"hi\"\nend 'y'" },
      "say “hi”\nend 'y'\n",
    ],
    [
      "full-width forms",
      "\uff08\uff21\uff09，b\nc\n",
      { oldText: "(A),b\nc", newText: "(A),b\nd" },
      "\uff08\uff21\uff09，b\nd\n",
    ],
    [
      "accents that stand alone in the file",
      "cre\u0301e\u0301 x\u0301 y\nz\n",
      { oldText: "cr\u00e9\u00e9 x\u0301 y", newText: "new" },
      "new\nz\n",
    ],
    [
      "accents that stand alone in the call",
      "caf\u00e9 au\n",
      { oldText: "cafe\u0301 a", newText: "tea a" },
      "tea au\n",
    ],
    ["a no-break space", "a\u00a0b\n", { oldText: "a b", newText: "ab" }, "ab\n"],
  ];
  test("replace one passage, exact or tolerably different, and keep the rest of the file", async () => {
    for (const [name, before, input, after] of edits) {
      using folder = toolFolder();
      folder.write("file", before);
      await folder.run("edit", { path: "file", ...input });
      expect.soft(folder.text("file"), name).toBe(after);
    }
  });

  test("UTF-16 stays UTF-16", async () => {
    using folder = toolFolder();
    folder.write("file", Buffer.from("\ufeffgrün\r\n", "utf16le").swap16());
    await folder.run("edit", { path: "file", oldText: "grün", newText: "rot\nblau" });
    const bytes = readFileSync(join(folder.path, "file"));
    expect(bytes.swap16().toString("utf16le")).toBe("\ufeffrot\r\nblau\r\n");
  });

  test("the result shows the difference and counts it", async () => {
    using folder = toolFolder();
    folder.write("file", source);
    const result = await folder.run("edit", {
      path: "file",
      oldText: "  return 2;",
      newText: "  log();\n  return 3;",
    });
    expect(textOf(result)).toBe(
      [
        "Edited file: 1 edit, 2 lines added, 1 removed.",
        "@@ -3,5 +3,6 @@",
        " }",
        " ",
        " function two() {",
        "-  return 2;",
        "+  log();",
        "+  return 3;",
        " }",
      ].join("\n"),
    );
    expect(result.details).toMatchObject({ path: "file", added: 2, removed: 1, firstChangedLine: 6 });
  });

  test("the result says that differences were ignored", async () => {
    using folder = toolFolder();
    folder.write("file", "a  \n“b”\n");
    const result = await folder.run("edit", { path: "file", oldText: 'a\n"b"', newText: "c" });
    expect(textOf(result)).toContain(
      "(oldText was not exact: differences in spaces at line ends, special characters or accents were ignored.)",
    );
  });

  test("a long difference is cut for the model and whole in the details", async () => {
    using folder = toolFolder();
    folder.write("file", "x\n");
    const newText = Array.from({ length: 100 }, (_, index) => `line ${index}`).join("\n");
    const result = await folder.run("edit", { path: "file", oldText: "x", newText });
    expect(textOf(result)).toContain("… (the diff is cut here)");
    expect((result.details as { diff: string }).diff).toContain("+line 99");
  });
});

test("an edit of unique passages is the plain replacement", async () => {
  using folder = toolFolder();
  const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 });
  const words = fc
    .array(fc.oneof(word, fc.constantFrom("\n", "  ", "\t\n", "“x”", "$&")), { minLength: 2, maxLength: 30 })
    .filter(
      (parts) =>
        !parts.join("").includes("\0") && !parts.join("").includes("\r") && parts.join("").isWellFormed(),
    );
  await fc.assert(
    fc.asyncProperty(words, fc.array(word, { minLength: 4, maxLength: 4 }), async (parts, replacements) => {
      const text = `.${parts.join("")}`;
      const edits = uniqueParts(text, parts).map((oldText, index) => ({
        oldText,
        newText: `<${replacements[index % replacements.length]!.replaceAll("\r", "")}>`,
      }));
      fc.pre(edits.length > 0);
      folder.write("file", text);
      await folder.run("edit", { path: "file", edits });
      expect(folder.text("file")).toBe(plainReplacement(text, edits));
    }),
  );
});

interface Edit {
  oldText: string;
  newText: string;
}

/** Those that occur once and do not overlap with an earlier one. */
function uniqueParts(text: string, parts: readonly string[]): string[] {
  const taken: [number, number][] = [];
  return parts.filter((part) => {
    const at = text.indexOf(part);
    const end = at + part.length;
    if (at !== text.lastIndexOf(part) || taken.some(([from, to]) => at < to && from < end)) return false;
    taken.push([at, end]);
    return true;
  });
}

function plainReplacement(text: string, edits: readonly Edit[]): string {
  const placed = edits
    .map((edit) => ({ ...edit, at: text.indexOf(edit.oldText) }))
    .sort((a, b) => b.at - a.at);
  return placed.reduce(
    (result, { oldText, newText, at }) => result.slice(0, at) + newText + result.slice(at + oldText.length),
    text,
  );
}
