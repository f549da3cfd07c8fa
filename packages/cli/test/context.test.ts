import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import type { ContextItem } from "../src/views/context-report.ts";
import { header, sampleLines, testFolder, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

describe("bonsai context", () => {
  test("prints the projection as JSON: entryId, role, tokens, message", async () => {
    const items = await jsonOf<ContextItem[]>(["context", writeLines(sampleLines())]);
    expect(items.map((item) => [item.entryId, item.role])).toEqual([
      ["cccc0005", "compactionSummary"],
      ["cccc0002", "user"],
      ["cccc0003", "assistant"],
      ["cccc0004", "toolResult"],
      ["cccc0006", "user"],
      ["cccc0007", "assistant"],
    ]);
    for (const item of items) expect(Object.keys(item)).toEqual(["entryId", "role", "tokens", "message"]);
    expect(items[1]!.message).toMatchObject({ content: "Then compute it. Never use floats for money." });
    expect(items.every((item) => item.tokens > 0)).toBe(true);
  });

  test("stands at --leaf, whose beginning is enough", async () => {
    const items = await jsonOf<ContextItem[]>(["context", writeLines(sampleLines()), "--leaf", "bbbb0002"]);
    expect(items.map((item) => item.entryId)).toEqual([
      "aaaa0001",
      "aaaa0002",
      "aaaa0003",
      "aaaa0004",
      "bbbb0001",
      "bbbb0002",
    ]);
  });

  test("is readable at 40 and 80 columns", () =>
    everyRow([80, 40])(async (columns) => {
      const { code, stdout } = await runCli(["context", writeLines(sampleLines())], { columns });
      expect(code).toBe(0);
      await expect(stdout).toMatchFileSnapshot(`golden/context-${columns}.txt`);
    }));

  test("says where the economy has the session compacted, where it is on and the model is known", async () => {
    const priced = (line: object) =>
      JSON.parse(
        JSON.stringify(line)
          .replaceAll(/"provider":"[^"]*"/g, '"provider":"anthropic"')
          .replaceAll(/"model":"[^"]*"/g, '"model":"claude-sonnet-4-5"'),
      ) as object;
    const file = writeLines(sampleLines().map(priced));
    const home = testFolder();
    writeFileSync(join(home, "settings.json"), JSON.stringify({ compaction: { economy: 64_000 } }));
    const said = await runCli(["context", file], { env: { BONSAI_HOME: home } });
    expect(said.stdout.replaceAll(/\s+/g, " ")).toContain("Economy: compacts at 64k of 200k");
    expect((await runCli(["context", file])).stdout).not.toContain("Economy");
    expect(await jsonOf(["context", file])).toBeInstanceOf(Array);
  });

  test("prints 10,000 items", async () => {
    const message = { role: "user", content: "hi", timestamp: 0 };
    const lines = Array.from({ length: 10_000 }, (_, at) => ({
      type: "message",
      id: at.toString(16).padStart(8, "0"),
      parentId: at === 0 ? null : (at - 1).toString(16).padStart(8, "0"),
      timestamp: "2026-11-20T09:00:00.000Z",
      message,
    }));
    const { code, stdout } = await runCli(["context", writeLines([header, ...lines])], { columns: 80 });
    expect(code).toBe(0);
    expect(stdout).toContain("10,000 items at 0000270f");
  });

  test("is empty for a session without entries", async () => {
    const file = writeLines(sampleLines().slice(0, 1));
    expect(await jsonOf(["context", file])).toEqual([]);
    expect((await runCli(["context", file])).stdout).toBe("0 items at the beginning\n");
  });

  test("refuses an unknown entry and an ambiguous one", async () => {
    const file = writeLines(sampleLines());
    const unknown = await runCli(["context", file, "--leaf", "ffff", "--json"]);
    expect(unknown.code).toBe(1);
    expect(JSON.parse(unknown.stderr).error.code).toBe("entry_not_found");
    const ambiguous = await runCli(["context", file, "--leaf", "aaaa"]);
    expect(ambiguous.stderr).toContain("aaaa0001, aaaa0002, aaaa0003, aaaa0004");
    expect(ambiguous.stderr).toContain("[entry_ambiguous]");
  });
});
