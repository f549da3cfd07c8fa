import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateWorkday } from "@bonsai-agent/testkit";
import { onTestFinished } from "vitest";

/** A folder for one test, gone after it. */
export function testFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-cli-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

let workday: Buffer | undefined;

/** A working day that is longer than what a compaction keeps by default. Generated once; each test has a copy. */
export function longSession(): string {
  const file = join(testFolder(), "workday.jsonl");
  if (workday === undefined) {
    generateWorkday({ file, seed: 3, entries: 300 });
    workday = readFileSync(file);
  } else writeFileSync(file, workday);
  return file;
}

/** Writes lines as a file and returns its path. */
export function writeLines(lines: readonly object[], file = join(testFolder(), "session.jsonl")): string {
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  return file;
}

export const header = {
  type: "session",
  version: 3,
  id: "5e551011-0000-4000-8000-000000000000",
  timestamp: "2026-11-20T09:00:00.000Z",
  cwd: "/home/dev/shop",
};

/**
 * A small session with a branch that was left, a label, a compaction, a failed command, wide and hostile text:
 *
 *     u1 a1 t1 a2 ┬ u2 a3              (left; its label says "dead end")
 *                 ╰ s1 u3 a4 t2 c1 u4 a5 (active)
 */
export function sampleLines(): object[] {
  let second = 0;
  const entry = (id: string, parentId: string | null, fields: object) => {
    second += 30;
    return {
      id,
      parentId,
      timestamp: new Date(Date.UTC(2026, 10, 20, 9, 0, second)).toISOString(),
      ...fields,
    };
  };
  const message = (id: string, parentId: string | null, fields: object) =>
    entry(id, parentId, { type: "message", message: { timestamp: 1_795_000_000_000, ...fields } });
  const user = (id: string, parentId: string | null, content: string) =>
    message(id, parentId, { role: "user", content });
  const answer = (id: string, parentId: string, text: string, calls: object[] = []) =>
    message(id, parentId, { role: "assistant", content: [{ type: "text", text }, ...calls], ...answered });
  const result = (id: string, parentId: string, fields: object) =>
    message(id, parentId, { role: "toolResult", isError: false, ...fields });
  return [
    header,
    user("aaaa0001", null, "Make the totals right. \u001b[31mred\u001b[0m\u0007 and 日本語のテキスト"),
    answer("aaaa0002", "aaaa0001", "I will read the code.", [call("c1", "read", { path: "src/total.ts" })]),
    result("aaaa0003", "aaaa0002", {
      toolCallId: "c1",
      toolName: "read",
      content: text("export const total = 1;\n"),
    }),
    answer("aaaa0004", "aaaa0003", "The total is a constant."),
    user("bbbb0001", "aaaa0004", "Try a cache"),
    answer("bbbb0002", "bbbb0001", "A cache makes it worse."),
    entry("bbbb0003", "bbbb0002", { type: "label", targetId: "bbbb0001", label: "dead end" }),
    entry("cccc0001", "aaaa0004", {
      type: "branch_summary",
      summary: "A cache was tried: no use.",
      fromId: "bbbb0003",
    }),
    user("cccc0002", "cccc0001", "Then compute it. Never use floats for money."),
    answer("cccc0003", "cccc0002", "", [
      call("c2", "edit", { path: "src/total.ts", oldText: "1", newText: "sum()" }),
    ]),
    result("cccc0004", "cccc0003", {
      toolCallId: "c2",
      toolName: "edit",
      content: text("no match"),
      isError: true,
    }),
    entry("cccc0005", "cccc0004", {
      type: "compaction",
      summary: "## Goal\nMake the totals right.\n\n## Next Steps\nMend the edit.",
      firstKeptEntryId: "cccc0002",
      tokensBefore: 12_345,
    }),
    user("cccc0006", "cccc0005", "go on"),
    answer("cccc0007", "cccc0006", "Done: the total is computed."),
  ];
}

const answered = {
  api: "anthropic-messages",
  provider: "anthropic",
  model: "claude-sonnet-4-5",
  stopReason: "stop",
  usage: {
    input: 10,
    output: 20,
    cacheRead: 1000,
    cacheWrite: 50,
    totalTokens: 1080,
    cost: { input: 0.001, output: 0.002, cacheRead: 0.003, cacheWrite: 0.004, total: 0.01 },
  },
};

function text(value: string): object[] {
  return [{ type: "text", text: value }];
}

function call(id: string, name: string, args: object): object {
  return { type: "toolCall", id, name, arguments: args };
}
