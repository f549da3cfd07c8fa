import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { CompactionReport } from "../src/views/compact-view.ts";
import type { ContextItem } from "../src/views/context-report.ts";
import { testFolder, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

const cwd = "/home/dev/shop";
const sessionId = "8f6d2c1e-0000-4000-8000-00000000c0de";

/** Forty long turns, as Claude Code writes them. */
function claudeCode(): string {
  const lines: Record<string, unknown>[] = [];
  for (let turn = 0; turn < 40; turn += 1)
    for (const role of ["user", "assistant"]) {
      const words = `${role} ${turn}: ${"the parser and the lexer. ".repeat(200)}`;
      lines.push({
        ...{ type: role, sessionId, cwd, uuid: `${role}-${turn}`, isSidechain: false },
        parentUuid: role === "assistant" ? `user-${turn}` : turn === 0 ? null : `assistant-${turn - 1}`,
        timestamp: new Date(Date.UTC(2026, 10, 20, 9, turn, role === "user" ? 0 : 30)).toISOString(),
        message:
          role === "user"
            ? { role, content: words }
            : { role, id: `msg-${turn}`, model: "claude-x", content: [{ type: "text", text: words }] },
      });
    }
  return writeLines(lines);
}

function recorded(home: string): string[] {
  const root = join(home, "sessions");
  return existsSync(root) ? readdirSync(root, { recursive: true }).map(String).filter(isSession) : [];
}

function isSession(name: string): boolean {
  return name.endsWith(".jsonl");
}

describe("bonsai compact, of another agent's transcript", () => {
  test("makes a session of it, compacts that, and leaves the transcript as it was", async () => {
    const env = { BONSAI_HOME: testFolder() };
    const file = claudeCode();
    const before = readFileSync(file);
    const { code, stdout, stderr } = await runCli(["compact", file, "--keep", "8k"], { env });
    expect([code, stderr]).toEqual([0, expect.stringContaining("a transcript of Claude Code")]);
    expect(stdout).toContain("Compacted");
    expect(readFileSync(file).equals(before)).toBe(true);
    const [session] = recorded(env.BONSAI_HOME);
    expect(stdout.replaceAll(/\s/g, "")).toContain(session!);
    const items = await jsonOf<ContextItem[]>(["context", join(env.BONSAI_HOME, "sessions", session!)]);
    expect(items[0]!.role).toBe("compactionSummary");
    expect(JSON.stringify(items.at(-1)!.message)).toContain("assistant 39");
  });

  test("-o names the session", async () => {
    const env = { BONSAI_HOME: testFolder() };
    const copy = join(testFolder(), "small.jsonl");
    const report = await jsonOf<CompactionReport>(["compact", claudeCode(), "--keep", "8k", "-o", copy], {
      env,
    });
    expect(report.status).toBe("compacted");
    expect(existsSync(copy)).toBe(true);
    expect(recorded(env.BONSAI_HOME)).toEqual([]);
  });

  test("--dry-run plans the same and writes nothing", async () => {
    const env = { BONSAI_HOME: testFolder() };
    const file = claudeCode();
    const args = ["compact", file, "--keep", "8k"];
    const planned = await jsonOf<CompactionReport>([...args, "--dry-run"], { env });
    expect(recorded(env.BONSAI_HOME)).toEqual([]);
    const { status: _status, entryId: _entryId, ...plan } = planned;
    const { status: _done, entryId: _stored, ...done } = await jsonOf<CompactionReport>(args, { env });
    expect(plan.keptEntryIds).toEqual(done.keptEntryIds);
    expect(plan.tokensAfter).toBe(done.tokensAfter);
  });

  test("a second time, the session made of it is named, and stays as it is", async () => {
    const env = { BONSAI_HOME: testFolder() };
    const file = claudeCode();
    await runCli(["compact", file, "--keep", "8k"], { env });
    const [session] = recorded(env.BONSAI_HOME);
    const path = join(env.BONSAI_HOME, "sessions", session!);
    const before = readFileSync(path);
    const { code, stderr } = await runCli(["compact", file, "--json"], { env });
    expect(code).toBe(1);
    expect(stderr).toContain("output_exists");
    expect(stderr).toContain(session!);
    expect(readFileSync(path).equals(before)).toBe(true);
  });
});
