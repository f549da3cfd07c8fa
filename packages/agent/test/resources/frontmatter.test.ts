import { expect, test } from "vitest";
import { parseFrontmatter } from "../../src/resources/resource-files.ts";

const sound = [
  ["---\nname: x\nlist: [1, 2]\n---\nBody\n", { name: "x", list: [1, 2] }, "Body\n"],
  ["\uFEFF---\r\nname: x\r\n---\r\n\r\nBody\r\nmore", { name: "x" }, "Body\nmore"],
  ["---\n---\nBody", {}, "Body"],
  ["---\nname: x\n---", { name: "x" }, ""],
  ["--- \nname: x\n---\t\n", { name: "x" }, ""],
  ["Body\n---\nmore", {}, "Body\n---\nmore"],
  ["--- no fence", {}, "--- no fence"],
  ["---\ntext: |\n  a\n  ---b\n---\nc", { text: "a\n---b\n" }, "c"],
  ["", {}, ""],
] as const;
test("reads the fields and the body", async () => {
  for (const [text, fields, body] of sound)
    expect.soft(await parseFrontmatter(text), text).toEqual({ fields, body });
});

const loose = [
  ["argument-hint: [issue] [priority]", { "argument-hint": "[issue] [priority]" }],
  ["name: x\ndescription: Use it: always", { name: "x", description: "Use it: always" }],
  ["name: x\ndescription: @file `code`", { name: "x", description: "@file `code`" }],
] as const;
test("reads a line that is not YAML as a plain value", async () => {
  for (const [yaml, fields] of loose)
    expect.soft(await parseFrontmatter(`---\n${yaml}\n---\nB`), yaml).toEqual({ fields, body: "B" });
});

const bomb = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
  .concat(
    [..."bcdefgh"].map((name, at) => {
      const before = "abcdefgh"[at]!;
      return `${name}: &${name} [${Array.from({ length: 10 }, () => `*${before}`).join(", ")}]`;
    }),
  )
  .join("\n");

const broken = [
  ["broken", "---\na: [1\nb: 2\n---\nB", "its front matter is not valid YAML: ", "B"],
  [
    "a name twice",
    "---\na: 1\na: 2\n---\nB",
    "its front matter is not valid YAML: Map keys must be unique",
    "B",
  ],
  ["a list", "---\n- a\n- b\n---\nB", "its front matter is not a list of fields (name: value)", "B"],
  ["a text", "---\nonly words\n---\nB", "its front matter is not a list of fields (name: value)", "B"],
  [
    "aliases of aliases",
    `---\n${bomb}\n---\nB`,
    "its front matter is not valid YAML: Excessive alias count",
    "B",
  ],
  ["never closed", "---\nname: x\n", "its front matter has no closing line ---", "---\nname: x\n"],
  [
    "10 MB",
    `---\na: ${"x".repeat(1e7)}\n---\nB`,
    "its front matter has 10,000,003 characters; the maximum is 65,536",
    "B",
  ],
] as const;
test("reports unreadable front matter as a problem, and does not throw", async () => {
  for (const [name, text, problem, body] of broken) {
    const read = await parseFrontmatter(text);
    expect.soft(read, name).toMatchObject({ fields: {}, body });
    expect.soft(read.problem, name).toContain(problem);
  }
});

test("a name that is no text is no surprise", async () => {
  const { fields } = await parseFrontmatter("---\n? [a, b]\n: 1\n__proto__: {evil: true}\n---\n");
  expect(Object.getPrototypeOf(fields)).toBe(Object.prototype);
  expect(({} as { evil?: unknown }).evil).toBeUndefined();
});
