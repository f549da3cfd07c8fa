import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ContextItem } from "../src/reports/context-item.ts";
import { jsonOf, runCli } from "./run-cli.ts";
import { header, testFolder } from "./sample-session.ts";

const LEVELS = 20_000;

/** A tool call whose argument is nested deeper than JSON can be written; written by hand for that reason. */
function deepSession(): string {
  const deep = `${"[".repeat(LEVELS)}1${"]".repeat(LEVELS)}`;
  const call = `{"type":"toolCall","id":"c1","name":"probe","arguments":{"deep":${deep}}}`;
  const place = '"timestamp":"2026-11-20T09:00:00.000Z"';
  const file = join(testFolder(), "deep.jsonl");
  const lines = [
    JSON.stringify(header),
    `{"type":"message","id":"aaaa0001","parentId":null,${place},"message":{"role":"user","content":"Go","timestamp":1}}`,
    `{"type":"message","id":"aaaa0002","parentId":"aaaa0001",${place},"message":{"role":"assistant","content":[${call}],"stopReason":"toolUse","timestamp":2}}`,
  ];
  writeFileSync(file, `${lines.join("\n")}\n`);
  return file;
}

describe("a value nested deeper than JSON can be written", () => {
  test.each([
    ["show"],
    ["context"],
    ["tree"],
    ["tree", "--all"],
    ["compact", "--keep", "1"],
    ["export"],
    ["doctor"],
  ])("does not stop %s", async (command, ...flags) => {
    const { code, stderr } = await runCli([command, deepSession(), ...flags]);
    expect([code, stderr]).toEqual([0, ""]);
  });

  test("cannot be rehearsed, and a dry run says so", async () => {
    const { code, stderr } = await runCli(["compact", deepSession(), "--dry-run", "--keep", "1", "--json"]);
    expect([code, JSON.parse(stderr).error.code]).toEqual([1, "entry_not_serializable"]);
  });

  test("is named in context --json, and all around it is told", async () => {
    const items = await jsonOf<ContextItem[]>(["context", deepSession()]);
    expect(items.map((item) => item.entryId)).toEqual(["aaaa0001", "aaaa0002"]);
    expect(JSON.stringify(items)).toContain("[nested too deeply to show]");
    expect(items[1]!.message).toMatchObject({ content: [{ name: "probe" }], stopReason: "toolUse" });
  });
});
