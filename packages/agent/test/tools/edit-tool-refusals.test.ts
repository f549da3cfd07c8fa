import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { toolFolder } from "./tool-folder.ts";

describe("edits that are refused", () => {
  const refusals: [string, string, Record<string, unknown>, string[]][] = [
    [
      "several places",
      "x\ny\nx\n",
      { oldText: "x", newText: "z" },
      ["oldText occurs 2 times (lines 1, 3)", "Nothing was changed."],
    ],
    ["places that overlap", "aaa", { oldText: "aa", newText: "b" }, ["occurs 2 times"]],
    ["many places", "x\n".repeat(30), { oldText: "x", newText: "z" }, ["occurs 30 times", "10 and 20 more"]],
    [
      "another indentation",
      "if (a) {\n    go();\n}\n",
      { oldText: "if (a) {\n  go();\n}", newText: "" },
      [
        "The nearest text starts at line 1:\n1: if (a) {\n2:     go();\n3: }",
        'The first difference is in line 2 (only the indentation): oldText has "  go();", the file has "    go();".',
      ],
    ],
    ["other spaces", "a = b;\nc\n", { oldText: "a  =  b;", newText: "" }, ["(only the spaces)"]],
    [
      "upper and lower case",
      "Return 1\n",
      { oldText: "return 1", newText: "" },
      ["(only upper and lower case)"],
    ],
    [
      "another word",
      "one\ntwo\nthree\n",
      { oldText: "one\nzwei\nthree", newText: "" },
      ['(the text): oldText has "zwei", the file has "two".'],
    ],
    ["beyond the end", "one\ntwo", { oldText: "one\ntwo\nthree", newText: "" }, ["the file ends earlier"]],
    [
      "nothing like it",
      "one\n",
      { oldText: "elsewhere", newText: "" },
      ["no line of oldText occurs in the file"],
    ],
    [
      "done already",
      "new words\n",
      { oldText: "old", newText: "new words" },
      ["this edit seems to be done already"],
    ],
    [
      "a short newText that stands elsewhere",
      "x\nlong line\n",
      { oldText: "long  line", newText: "x" },
      ["(only the spaces)"],
    ],
    ["an empty oldText", "a", { oldText: "", newText: "b" }, ["has an empty oldText"]],
    ["no change", "a", { oldText: "a", newText: "a" }, ["changes nothing"]],
    ["no edit", "a", {}, ["The call contains no edit."]],
    ["half an edit", "a", { oldText: "a" }, ["newText is missing"]],
    [
      "overlapping edits",
      "abc",
      {
        edits: [
          { oldText: "ab", newText: "x" },
          { oldText: "bc", newText: "y" },
        ],
      },
      ["Edit 1 of 2 and Edit 2 of 2 overlap in line 1."],
    ],
    [
      "one bad of two",
      "a b",
      {
        edits: [
          { oldText: "a", newText: "x" },
          { oldText: "c", newText: "y" },
        ],
      },
      ["Edit 2 of 2 failed"],
    ],
    [
      "tolerance that fits several places",
      "“x”\n‘\u201cx\u201d\n",
      { oldText: '"x"', newText: "" },
      ["occurs 2 times"],
    ],
  ];
  test("have a reason and leave the file as it was", async () => {
    for (const [name, before, input, expected] of refusals) {
      using folder = toolFolder();
      folder.write("file", before);
      const message = await folder.run("edit", { path: "file", ...input }).then(
        () => "it was made",
        (error: Error) => error.message,
      );
      for (const part of expected) expect.soft(message, name).toContain(part);
      expect.soft(folder.text("file"), name).toBe(before);
    }
  });

  const files: [string, Buffer, string][] = [
    ["binary", Buffer.alloc(100), "file is not text: unknown binary data, 100 bytes."],
    ["Latin-1", Buffer.from("grün", "latin1"), "is not valid UTF-8 or UTF-16, and editing would damage it"],
    [
      "damaged UTF-8 far down",
      Buffer.concat([Buffer.alloc(5_000, "a"), Buffer.from([0xff])]),
      "is not valid UTF-8",
    ],
    ["too large", Buffer.alloc((10 << 20) + 1, "a"), "edit accepts files up to 10.5 MB"],
  ];
  test("refuse a file that is no editable text", async () => {
    for (const [name, bytes, expected] of files) {
      using folder = toolFolder();
      folder.write("file", bytes);
      await expect
        .soft(folder.run("edit", { path: "file", oldText: "a", newText: "b" }), name)
        .rejects.toThrow(expected);
      expect.soft(readFileSync(join(folder.path, "file")).equals(bytes), name).toBe(true);
    }
  });

  test("a missing file", async () => {
    using folder = toolFolder();
    folder.write("main.ts", "");
    await expect(folder.run("edit", { path: "mian.ts", oldText: "a", newText: "b" })).rejects.toThrow(
      "Did you mean main.ts?",
    );
  });
});

const longFiles: [string, string, Edit, string][] = [
  ["a line of spaces", `${" ".repeat(300_000)}x`, { oldText: "y \n", newText: "z" }, "no line of oldText"],
  [
    "the same line over and over",
    `${"}\n".repeat(200_000)}x`,
    { oldText: `${"}\n".repeat(100_000)}y`, newText: "z" },
    "oldText does not occur",
  ],
  [
    "a passage that overlaps itself",
    "a".repeat(400_000),
    { oldText: "a".repeat(200_000), newText: "z" },
    "at least 1000 times",
  ],
];

test("looks through a long file once", async () => {
  for (const [name, text, edit, problem] of longFiles) {
    using folder = toolFolder();
    folder.write("file", text);
    await expect.soft(folder.run("edit", { path: "file", edits: [edit] }), name).rejects.toThrow(problem);
  }
});

interface Edit {
  oldText: string;
  newText: string;
}
