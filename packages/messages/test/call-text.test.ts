import fc from "fast-check";
import { expect, test } from "vitest";
import { callParts } from "../src/text/call-text.ts";
import { lineText } from "../src/text/screen-text.ts";

const said: readonly [string, string, unknown][] = [
  ["read src/a.ts", "read", { path: "src/a.ts" }],
  ["read src/a.ts:10-40", "read", { path: "src/a.ts", offset: 10, limit: 31 }],
  ["read src/a.ts:10-", "read", { path: "src/a.ts", offset: 10 }],
  ["read src/a.ts:1-20", "read", { limit: 20, path: "src/a.ts" }],
  ["view /a/b.py:5-", "view", { file_path: "/a/b.py", view_range: [5, -1] }],
  ["open src/a.ts:3-9", "open", { filename: "src/a.ts", startLine: 3, endLine: 9 }],
  ["ls src · limit 20", "ls", { path: "src", limit: 20 }],
  ["ls", "ls", {}],
  [
    "grep total\\( in src · ignoreCase · glob *.ts",
    "grep",
    { path: "src", ignoreCase: true, literal: false, glob: "*.ts", pattern: "total\\(" },
  ],
  ["find *.ts in src/x", "find", { pattern: "*.ts", path: "src/x" }],
  ["bash npm test && echo done · timeout 60", "bash", { timeout: 60, command: "npm test &&\n  echo done" }],
  ["shell bash -lc npm test · workdir /x", "shell", { command: ["bash", "-lc", "npm test"], workdir: "/x" }],
  ["edit a.ts", "edit", { path: "a.ts", edits: [{ oldText: "a", newText: "b" }] }],
  ["write a.ts", "write", { content: "x\ny", path: "a.ts" }],
  ["open ./a/b, c.ts", "open", { paths: ["./a/b", "c.ts"] }],
  ["look ./here · deep", "look", { deep: true, where: "./here" }],
  [
    "task Find all callers · prompt 2 lines",
    "task",
    { prompt: "Find\nall", description: "Find all callers" },
  ],
  ["get_page https://a.example/x · depth 2", "get_page", { depth: 2, url: "https://a.example/x" }],
  ["get_issue owner o · repo o/r · number 5", "get_issue", { owner: "o", repo: "o/r", number: 5 }],
  ["list filter.state open · filter.labels a, b", "list", { filter: { state: "open", labels: ["a", "b"] } }],
  ["todo todos 2", "todo", { todos: [{ text: "a" }, { text: "b" }] }],
  ["recall price table", "recall", { query: "price table" }],
  ["note hello", "note", { thought: "hello" }],
  ["? odd", undefined as unknown as string, { path: "odd" }],
  ["read", "read", "no object"],
];

test("writes a call as its tool, path and arguments", () => {
  for (const [expected, name, args] of said)
    expect.soft(lineText(callParts(name, args), 200), expected).toBe(expected);
});

test("paths are marked with their lines, and nothing else is", () => {
  const parts = callParts("grep", { pattern: "a/b/c.ts", path: "src/x.ts" });
  expect(parts.filter(({ isPath }) => isPath)).toEqual([{ text: "src/x.ts", isPath: true }]);
});

test("a text is cut between characters", () => {
  expect(lineText(callParts("say", { text: "😀".repeat(50) }), 10)).toBe(`say ${"😀".repeat(5)}…`);
});

/** Braces in an argument are shown as they are. */
const withoutBraces = fc
  .string({ minLength: 1, maxLength: 1 })
  .filter((unit) => unit !== "{" && unit !== "}");
const key = fc.string({ unit: withoutBraces });
const values = [key, fc.boolean(), fc.integer(), fc.double(), fc.constant(null), fc.constant(undefined)];

test("any arguments make one line without JSON, in time that does not grow with them", () => {
  fc.assert(
    fc.property(fc.string({ unit: withoutBraces }), fc.object({ key, values, maxDepth: 4 }), (name, args) => {
      const text = lineText(callParts(name.trim(), args), 10_000);
      expect(text).not.toMatch(/\n.*\S/);
      expect(text).not.toMatch(/[{}]/);
    }),
  );
  expect(
    lineText(callParts("say", { text: "a ".repeat(5_000_000), more: "b".repeat(5_000_000) }), 10_000).length,
  ).toBeLessThan(1_000);
});
