import { expect, test } from "vitest";
import {
  formatReadLineRange,
  generateDiffString,
  generateUnifiedPatch,
  renderDiff,
} from "../src/modules/coding-agent.ts";

const lines = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => `line ${from + at}`).join("\n");
const before = `${lines(1, 12)}\n`;
const after = before.replace("line 2\n", "two\n").replace("line 11\n", "");

test("a difference has the numbers of its lines, and dots where some are left out", () => {
  expect(generateDiffString(before, after, 1)).toEqual({
    diff: [
      "  1 line 1",
      "- 2 line 2",
      "+ 2 two",
      "  3 line 3",
      "    ...",
      " 10 line 10",
      "-11 line 11",
      " 12 line 12",
    ].join("\n"),
    firstChangedLine: 2,
  });
  expect(generateDiffString(before, before)).toEqual({ diff: "", firstChangedLine: undefined });
});

test("a patch names its file", () => {
  const patch = generateUnifiedPatch("a.txt", "one\n", "two\n");
  expect(patch).toContain("--- a.txt\n+++ a.txt\n@@ -1");
  expect(patch).toContain("-one\n+two");
  expect(generateUnifiedPatch("a.txt", "one\n", "one\n")).toBe("");
});

test("a difference is drawn line by line", () => {
  const shown = renderDiff("+1 a\n-1 b\n 2 c");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one
  expect(shown.replaceAll(/\u001b\[[\d;]*m/g, "")).toBe("+1 a\n-1 b\n 2 c");
});

test.each([
  [undefined, undefined, ""],
  [5, undefined, ":5"],
  [undefined, 10, ":1-10"],
  ["5", "2", ":5-6"],
  ["x", 2, ""],
  [5, "x", ""],
])("the lines of a read from %s, %s of them", (offset, limit, range) => {
  expect(formatReadLineRange(offset, limit)).toBe(range);
});
