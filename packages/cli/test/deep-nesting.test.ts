import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runCli } from "./run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-deep-"));
const timestamp = "2026-01-05T09:00:00.000Z";
const HEADER = { type: "session", version: 3, id: "s", timestamp, cwd: "/w" };
const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 };
const user = (content: unknown) => ({ type: "message", message: { role: "user", content, timestamp: 1 } });
const call = { type: "toolCall", id: "t", name: "read", arguments: { path: "a" } };
const assistant = {
  type: "message",
  message: {
    role: "assistant",
    content: [call],
    provider: "p",
    model: "m",
    usage,
    stopReason: "stop",
    timestamp: 1,
  },
};
const result = {
  type: "message",
  message: {
    role: "toolResult",
    toolCallId: "t",
    toolName: "read",
    content: [{ type: "text", text: "x" }],
    timestamp: 1,
  },
};
const compaction = { type: "compaction", summary: "s", firstKeptEntryId: "a0", tokensBefore: 1, details: {} };

/** Where a value is nested: an entry, and the way to one of its fields. */
const places: [string, object, string[]][] = [
  ...["type", "id", "parentId", "timestamp", "message", "other"].map((field): [string, object, string[]] => [
    field,
    user("x"),
    [field],
  ]),
  ["content", user("x"), ["message", "content"]],
  ["role", user("x"), ["message", "role"]],
  ["a field of a message", user("x"), ["message", "other"]],
  ["a field of a block", user([{ type: "text", text: "x" }]), ["message", "content", "0", "other"]],
  ["arguments", assistant, ["message", "content", "0", "arguments", "path"]],
  ["usage", assistant, ["message", "usage", "input"]],
  ["details of a result", result, ["message", "details"]],
  ["details of a compaction", compaction, ["details"]],
  ["lists of a compaction", compaction, ["details", "readFiles"]],
  ["a summary", compaction, ["summary"]],
  ["data", { type: "custom", customType: "bonsai.undo" }, ["data"]],
  [
    "a custom message",
    { type: "custom_message", customType: "bonsai.pin", content: "x", display: true },
    ["details"],
  ],
  ["a label", { type: "label", targetId: "a0" }, ["label"]],
  ["a replacement", { type: "context_edit", targetId: "a0" }, ["replacement"]],
  ["a usage entry", { type: "usage", kind: "k", provider: "p", model: "m" }, ["usage"]],
  ["a type that nobody knows", { type: "hologram" }, ["depth"]],
];

function nestedFile(
  name: string,
  [entry, path]: [object, string[]],
  depth: number,
): { file: string; line: string } {
  const line = { ...entry, id: "d0", parentId: "a1", timestamp } as Record<string, unknown>;
  const copy = JSON.parse(JSON.stringify(line)) as Record<string, unknown>;
  let holder = copy;
  for (const key of path.slice(0, -1)) holder = holder[key] as Record<string, unknown>;
  holder[path.at(-1)!] = "DEEP";
  const text = JSON.stringify(copy).replace('"DEEP"', `${"[".repeat(depth)}${"]".repeat(depth)}`);
  const lines = [
    JSON.stringify(HEADER),
    JSON.stringify({ ...user("first"), id: "a0", parentId: null, timestamp }),
    JSON.stringify({ ...assistant, id: "a1", parentId: "a0", timestamp }),
    text,
    JSON.stringify({ ...user("last ".repeat(20)), id: "z0", parentId: "d0", timestamp }),
  ];
  const file = join(folder, `${name.replaceAll(" ", "-")}-${depth}.jsonl`);
  writeFileSync(file, `${lines.join("\n")}\n`);
  return { file, line: text };
}

const commands: [string, (file: string) => string[]][] = [
  ["show", (file) => ["show", file]],
  ["show --json", (file) => ["show", file, "--json"]],
  ["context", (file) => ["context", file]],
  ["context --json", (file) => ["context", file, "--json"]],
  ["tree", (file) => ["tree", file]],
  ["tree --json", (file) => ["tree", file, "--json"]],
  ["search", (file) => ["search", file, "last"]],
  ["doctor", (file) => ["doctor", file]],
  ["doctor --repair", (file) => ["doctor", file, "--repair", "--output", `${file}.repaired`]],
  ["export", (file) => ["export", file, "--output", `${file}.md`]],
  ["fork", (file) => ["fork", file, "a1", "--output", `${file}.fork`]],
  ["goto", (file) => ["goto", file, "a1"]],
  ["goto --summarize", (file) => ["goto", file, "z0", "--summarize"]],
  ["compact --dry-run", (file) => ["compact", file, "--dry-run"]],
  ["compact", (file) => ["compact", file, "--keep", "1"]],
  ["undo", (file) => ["undo", file]],
  ["import", (file) => ["import", file, "--output", `${file}.imported`]],
];

describe("20,000 arrays", () => {
  test.each(places)("in %s: every command ends well or with a clear error", async (name, entry, path) => {
    const { file, line } = nestedFile(name, [entry, path], 20_000);
    for (const [command, args] of commands) {
      const { stdout, stderr } = await runCli(args(file));
      expect
        .soft(`${command}: ${stdout}${stderr}`.slice(-3_000))
        .not.toMatch(/call stack|unexpected_error|Invalid string/);
    }
    expect(readFileSync(file, "utf8").split("\n")).toContain(line);
  });
});
