import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import { renderLine } from "../src/views/line.ts";
import { type SessionReport, sessionView } from "../src/views/session-report.ts";
import { header, sampleLines, writeLines } from "./call/sample-session.ts";
import { jsonOf, nowMs, runCli } from "./run-cli.ts";

describe("bonsai show", () => {
  test("has the record of the latest compaction as a derived view", async () => {
    const { compaction } = await jsonOf<SessionReport>(["show", writeLines(sampleLines())]);
    expect(Object.keys(compaction!)).toEqual([
      "summary",
      "compactedMessageCount",
      "summarisedCount",
      "tokensBefore",
      "estimatedTokensBefore",
      "tokensAfter",
      "compactionCount",
      "previousSummary",
      "lastCompactedAt",
      "carried",
      "loss",
    ]);
    expect(compaction).toMatchObject({
      compactedMessageCount: 4,
      tokensBefore: 12_345,
      compactionCount: 1,
      previousSummary: null,
      carried: null,
      loss: null,
    });
  });

  test("lists the files that a sub-agent names in its result", async () => {
    const result = { role: "toolResult", toolCallId: "t9", toolName: "task", content: [], isError: false };
    const details = { readFiles: ["src/read.ts"], modifiedFiles: ["src/changed.ts"] };
    const place = { id: "aaaa9999", parentId: null, timestamp: "2026-01-01T00:00:00.000Z" };
    const entry = { type: "message", ...place, message: { ...result, details, timestamp: 1 } };
    const report = await jsonOf<SessionReport>(["show", writeLines([header, entry])]);
    expect(report).toMatchObject({ readFiles: ["src/read.ts"], modifiedFiles: ["src/changed.ts"] });
  });

  test("the summary's kept and omitted parts are shown and fit the width", async () => {
    const count = (kept: number, lost: number, putBack: number) => ({ kept, lost, putBack });
    const loss = {
      failing: count(1, 2, 1),
      irreversible: count(1, 0, 0),
      openTodos: count(0, 0, 0),
      requests: count(0, 0, 0),
      terms: count(80, 20, 0),
      lostTerms: [{ term: "SESSION_TTL\u001b[2J", entryId: "aaaa0001" }, { term: "a/".repeat(60) }],
    };
    const carried = { words: 3, wordsLeftOut: 2, knownTerms: 340 };
    const lines = sampleLines().map((line) =>
      (line as { type?: string }).type === "compaction"
        ? { ...(line as object), fromHook: false, details: { manifest: { carried, loss } } }
        : line,
    );
    const file = writeLines(lines);
    const { compaction } = await jsonOf<SessionReport>(["show", file]);
    expect(compaction).toMatchObject({ carried, loss });
    for (const columns of [120, 40]) {
      const { stdout } = await runCli(["show", file], { columns });
      const [, shown] = /\n( {2}Kept word for word[\s\S]*?)\n\n/.exec(stdout)!;
      for (const line of shown!.split("\n")) expect(line.length).toBeLessThanOrEqual(columns);
      expect(shown!.replaceAll(/\s+/g, " ")).toMatch(
        /^ Kept word for word: 3 user messages, 2 left out\. Exact terms recorded: 340\. Missing from the summary: 2 of 3 failing commands \(1 added\), 20 of 100 terms\. Missing terms, most used first: SESSION_TTL␛\[2J \(aaaa0001\), a\/.* and 18 more\.$/,
      );
    }
  });

  test("a tool's own model usage is counted with the answers", async () => {
    const usage = { input: 7, output: 3, cacheRead: 0, cacheWrite: 0, cost: { total: 0.25 } };
    const message = {
      role: "toolResult",
      toolCallId: "t",
      toolName: "task",
      content: [],
      isError: false,
      usage,
    };
    const timestamp = header.timestamp;
    const entry = { type: "message", id: "aaaa0001", parentId: null, timestamp, message };
    const { usage: counted } = await jsonOf<SessionReport>(["show", writeLines([header, entry])]);
    expect(counted).toMatchObject({ input: 7, output: 3, cost: { total: 0.25 } });
  });

  test("counts entries, usage, models and branches over all branches", async () => {
    const report = await jsonOf<SessionReport>(["show", writeLines(sampleLines())]);
    expect(report).toMatchObject({
      id: header.id,
      version: 3,
      cwd: "/home/dev/shop",
      name: null,
      leafId: "cccc0007",
      entryCount: 14,
      counts: { user: 4, assistant: 5, toolResult: 2, label: 1, branch_summary: 1, compaction: 1 },
      branchCount: 2,
      models: [{ model: "anthropic/claude-sonnet-4-5", answers: 5 }],
      problemCount: 0,
    });
    expect(report.costUsd).toBeCloseTo(0.05);
    expect(report.usage).toMatchObject({ input: 50, output: 100, cacheRead: 5000, cacheWrite: 250 });
  });

  test("a missing cost is unknown, not zero", async () => {
    const usage = (total: number) => ({ input: 7, output: 3, cacheRead: 0, cacheWrite: 0, cost: { total } });
    const answer = (id: string, model: string, total: number) => ({
      ...{ type: "message", id, parentId: null, timestamp: header.timestamp },
      message: {
        role: "assistant",
        content: [],
        provider: "p",
        model,
        usage: usage(total),
        stopReason: "stop",
      },
    });
    const shown = async (...answers: object[]) => {
      const file = writeLines([header, ...answers]);
      const { stdout } = await runCli(["show", file], { columns: 80 });
      return [(await jsonOf<SessionReport>(["show", file])).costUsd, stdout.match(/total +\d+ +(.*\S)/)?.[1]];
    };
    expect(await shown(answer("aaaa0001", "m", 0))).toEqual([null, "unknown"]);
    expect(await shown(answer("aaaa0001", "m", 0), answer("aaaa0002", "m", 0.25))).toEqual([
      null,
      "at least $0.25",
    ]);
    expect(await shown(answer("aaaa0001", "m", 0.25))).toEqual([0.25, "$0.25"]);
  });

  test("activity is the span of messages", async () => {
    const lines = sampleLines();
    const label = { type: "label", id: "dddd0001", parentId: "cccc0007", targetId: "cccc0006", label: "now" };
    const file = writeLines([...lines, { ...label, timestamp: "2027-11-20T09:00:00.000Z" }]);
    const report = await jsonOf<SessionReport>(["show", file]);
    expect(report).toMatchObject({
      lastActivity: (lines.at(-1) as { timestamp: string }).timestamp,
    });
    const { stdout } = await runCli(["show", file], { columns: 80 });
    expect(stdout).toContain("activity   16 hours ago  20 Nov, 09:00, for 6 min 30 s");
  });

  test("a session without a compaction has null for it", async () => {
    const file = writeLines(sampleLines().slice(0, 5));
    expect((await jsonOf<SessionReport>(["show", file])).compaction).toBeNull();
  });

  test("is readable at 40 and 80 columns", () =>
    everyRow([80, 40])(async (columns) => {
      const report = await jsonOf<SessionReport>(["show", writeLines(sampleLines())]);
      const shown = { ...report, file: "/recorded/session.jsonl" };
      const lines = sessionView({ ...shown, sizeBytes: 4_600 }, { width: columns, nowMs });
      const text = [...lines].map((line) => `${renderLine(line, false)}\n`).join("");
      await expect(text).toMatchFileSnapshot(`golden/show-${columns}.txt`);
    }));

  test("works for a header alone", async () => {
    const { code, stdout } = await runCli(["show", writeLines([header])], { columns: 80 });
    expect(code).toBe(0);
    expect(stdout).toContain("now at the beginning");
  });
});
