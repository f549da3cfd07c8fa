import { fileOperations } from "@bonsai-agent/compaction";
import type { Message } from "@bonsai-agent/messages";
import { emptyUsage } from "@bonsai-agent/messages";
import { expect, test } from "vitest";
import { builtinTools } from "../../src/tools/builtin-tools.ts";
import { ToolRegistry } from "../../src/tools/tool-registry.ts";
import { textOf, toolFolder } from "./tool-folder.ts";

const tools = builtinTools({ cwd: "/project", paths: { allow: [] }, bash: { timeoutSeconds: 60 } });

test("every tool is declared with a JSON Schema of an object whose parts are described", () => {
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  const declarations = registry.declarations();
  expect(declarations.map(({ name }) => name)).toEqual([
    "bash",
    "edit",
    "find",
    "grep",
    "ls",
    "read",
    "write",
  ]);
  for (const { parameters, description } of declarations) {
    expect(description).not.toBe("");
    expect(parameters).toMatchObject({ type: "object" });
    for (const part of Object.values(parameters.properties as Record<string, unknown>)) {
      expect(part).toMatchObject({ description: expect.any(String) });
    }
  }
});

test("null counts as a missing optional argument", async () => {
  using folder = toolFolder();
  folder.write("a", "x");
  expect(textOf(await folder.run("read", { path: "a", offset: null, limit: null }))).toBe("x");
  await expect(folder.run("read", { path: null })).rejects.toThrow("received null");
});

test("compaction knows which of their calls read and which changed a file", () => {
  const calls: [string, Record<string, unknown>][] = [
    ["read", { path: "read.ts", offset: 3, limit: 2 }],
    ["write", { path: "written.ts", content: "x" }],
    ["edit", { path: "edited.ts", edits: [{ oldText: "a", newText: "b" }] }],
    ["edit", { path: "edited-once.ts", oldText: "a", newText: "b" }],
    ["bash", { command: "cat bash.ts", timeout: 3 }],
    ["grep", { pattern: "x", path: "grep.ts", glob: "*.ts" }],
    ["find", { pattern: "*.ts", path: "find" }],
    ["ls", { path: "ls" }],
  ];
  const message: Message = {
    role: "assistant",
    content: calls.map(([name, args], index) => ({
      type: "toolCall",
      id: String(index),
      name,
      arguments: args,
    })),
    api: "scripted",
    provider: "scripted",
    model: "actor",
    usage: emptyUsage(),
    stopReason: "toolUse",
    timestamp: 0,
  };
  const { read, modified } = fileOperations([message]);
  expect(read).toEqual(["read.ts"]);
  expect(modified.toSorted()).toEqual(["edited-once.ts", "edited.ts", "written.ts"]);
});
