import { describe, expect, test } from "vitest";
import type { Truncation } from "../../src/tools/result-text.ts";
import { toolFolder } from "./tool-folder.ts";

const kilobyte = `${"x".repeat(1_023)}\n`;
const found = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${"d".repeat(180)}${at}`, "hit\n"]));

interface Case {
  files?: Record<string, string>;
  call: [tool: string, input: Record<string, unknown>];
  truncation?: Partial<Truncation>;
  others?: Record<string, unknown>;
}

/** Omissions by the limits of a result, and reached limits of a call. */
const cases: Record<string, Case> = {
  "read, whole": { files: { f: "1\n2\n" }, call: ["read", { path: "f" }] },
  "read, a part that was asked for": { files: { f: "1\n2\n" }, call: ["read", { path: "f", limit: 1 }] },
  "read, too many lines": {
    files: { f: "x\n".repeat(2_500) },
    call: ["read", { path: "f", offset: 101 }],
    truncation: {
      truncatedBy: "lines",
      totalLines: 2_400,
      totalBytes: 4_800,
      outputLines: 2_000,
      outputBytes: 4_000,
    },
  },
  "read, too many bytes": {
    files: { f: kilobyte.repeat(60) },
    call: ["read", { path: "f" }],
    truncation: {
      truncatedBy: "bytes",
      totalLines: 60,
      totalBytes: 61_440,
      outputLines: 50,
      firstLineExceedsLimit: false,
    },
  },
  "read, one long line": {
    files: { f: "x".repeat(60_000) },
    call: ["read", { path: "f" }],
    truncation: { truncatedBy: "bytes", totalLines: 1, totalBytes: 60_000, firstLineExceedsLimit: true },
  },
  "bash, short": { call: ["bash", { command: "echo hi" }] },
  "bash, too many lines": {
    call: ["bash", { command: "seq 2500" }],
    truncation: { truncatedBy: "lines", totalLines: 2_500, outputLines: 2_000, lastLinePartial: false },
  },
  "bash, one long line": {
    call: ["bash", { command: "head -c 60000 /dev/zero | tr '\\0' x" }],
    truncation: { truncatedBy: "bytes", totalBytes: 60_000, outputBytes: 51_200, lastLinePartial: true },
  },
  "grep, all": { files: { f: "hit\n" }, call: ["grep", { pattern: "hit" }] },
  "grep, more than its limit": {
    files: { f: "hit\nhit\n" },
    call: ["grep", { pattern: "hit", limit: 1 }],
    others: { matches: 2, matchLimitReached: 1 },
  },
  "grep, a long line": {
    files: { f: `hit ${"x".repeat(600)}\n` },
    call: ["grep", { pattern: "hit" }],
    others: { linesTruncated: true },
  },
  "grep, too many bytes": {
    files: { f: `hit ${"x".repeat(490)}\n`.repeat(150) },
    call: ["grep", { pattern: "hit", limit: 500 }],
    truncation: { truncatedBy: "bytes" },
  },
  "find, more than its limit": {
    files: { a: "", b: "" },
    call: ["find", { pattern: "*", limit: 1 }],
    others: { found: 2, resultLimitReached: 1 },
  },
  "find, too many bytes": {
    files: found(400),
    call: ["find", { pattern: "*" }],
    truncation: { truncatedBy: "bytes", totalLines: 400 },
  },
  "ls, more than its limit": {
    files: { a: "", b: "" },
    call: ["ls", { limit: 1 }],
    others: { entries: 2, entryLimitReached: 1 },
  },
  "ls, too many bytes": {
    files: found(400),
    call: ["ls", { limit: 300 }],
    truncation: { truncatedBy: "bytes", totalLines: 300 },
    others: { entryLimitReached: 300 },
  },
};

describe("details of a result", () => {
  test("report each limit that was reached, and no other", async () => {
    for (const [row, { files = {}, call, truncation, others = {} }] of Object.entries(cases)) {
      using folder = toolFolder();
      for (const [name, content] of Object.entries(files)) folder.write(name, content);
      const { details } = (await folder.run(...call)) as { details: Record<string, unknown> };
      expect.soft(details, row).toMatchObject(others);
      const reached = ["matchLimitReached", "linesTruncated", "resultLimitReached", "entryLimitReached"];
      expect
        .soft(
          Object.keys(details).filter((key) => reached.includes(key) && !(key in others)),
          row,
        )
        .toEqual([]);
      if (truncation === undefined) expect.soft(details, row).not.toHaveProperty("truncation");
      else expect.soft(details.truncation, row).toMatchObject({ truncated: true, ...truncation });
    }
  });

  test("edit: a patch that names the file", async () => {
    using folder = toolFolder();
    folder.write("f.txt", "one\ntwo\n");
    const result = await folder.run("edit", { path: "f.txt", oldText: "two", newText: "2" });
    expect(result.details).toMatchObject({
      patch: "--- f.txt\n+++ f.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
      firstChangedLine: 2,
    });
  });
});
