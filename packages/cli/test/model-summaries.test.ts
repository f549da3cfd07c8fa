import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openSession } from "@bonsai-agent/session";
import { describe, expect, test } from "vitest";
import type { GotoReport } from "../src/commands/session-edit.ts";
import type { CompactionReport } from "../src/views/compact-view.ts";
import { agentProject } from "./agent-project.ts";
import { longSession, sampleLines, writeLines } from "./call/sample-session.ts";
import { runCli } from "./run-cli.ts";

const summary = [
  "## Goal\nMake the parser right.",
  "## Constraints & Preferences\n- none",
  "## Progress\n### Done\n- [x] read it\n### In Progress\n- none\n### Blocked\n- none",
  "## Key Decisions\n- none",
  "## Next Steps\n1. test it",
  "## Critical Context\n- none",
].join("\n\n");

const model = { contextWindow: 200_000, turn: [], summary: [{ text: summary }], atEnd: "repeat" as const };
const refusing = { ...model, summary: [{ error: { status: 401, message: "no such key" } }] };

describe("bonsai compact --model", () => {
  test("the model summarises", async () => {
    const file = longSession();
    const { code, stdout } = await agentProject(model).run(["compact", file, "--json"]);
    const report = JSON.parse(stdout) as CompactionReport;
    expect([code, report.status, report.rung]).toEqual([0, "compacted", "summarise"]);
    expect(report.requests).toBeGreaterThan(0);
    expect(report.summary).toContain("Make the parser right.");
    expect(openSession(file).projection().compaction).toBeDefined();
  });

  test("a dry run asks no model and writes nothing", async () => {
    const file = longSession();
    const before = readFileSync(file);
    const { code, stdout } = await agentProject({ ...model, summary: [] }).run([
      "compact",
      file,
      "--dry-run",
      "--json",
    ]);
    expect([code, JSON.parse(stdout).status, JSON.parse(stdout).requests]).toEqual([0, "planned", 0]);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("a dry run estimates requests and price without a key", async () => {
    const file = longSession();
    const priced = ["compact", file, "--dry-run", "--model", "anthropic/claude-sonnet-4-5"];
    const env = { ...agentProject(model).env, ANTHROPIC_API_KEY: "" };
    const report = JSON.parse((await runCli([...priced, "--json"], { env })).stdout) as CompactionReport;
    expect(report.planned).toMatchObject({ model: "anthropic/claude-sonnet-4-5" });
    expect(report.planned!.requests.length).toBeGreaterThan(0);
    for (const { inputTokens } of report.planned!.requests) expect(inputTokens).toBeGreaterThan(1_000);
    expect(report.planned!.costUsd!.least).toBeGreaterThan(0);
    expect(report.planned!.costUsd!.most).toBeGreaterThan(report.planned!.costUsd!.least);
    expect(report.sizes.summaryTokens).toBeGreaterThan(0);
    const { stdout } = await runCli(priced, { env, columns: 120 });
    expect(stdout).toMatch(/^Plan {2}~?[\d,]+ → ~[\d,]+ tokens/);
    expect(stdout).toMatch(
      /\d requests? to anthropic\/claude-sonnet-4-5: ~[\d,]+ tokens of input; at most \$[\d.]+\./,
    );
    const scripted = await agentProject(model).run(["compact", file, "--dry-run"]);
    expect(scripted.stdout.replaceAll(/\s+/g, " ")).toContain("tokens of input; free of charge.");
  });

  test("the digest replaces a failed model's summary, with a notice", async () => {
    const { run } = agentProject(refusing);
    const { code, stdout } = await run(["compact", longSession()]);
    expect(code).toBe(0);
    expect(stdout.replaceAll(/\s+/g, " ")).toContain(
      "Used the built-in digest because the model's summary failed: no such key.",
    );
    const report = JSON.parse((await run(["compact", longSession(), "--json"])).stdout) as CompactionReport;
    expect(report).toMatchObject({ status: "compacted", rung: "digest", requests: 1 });
    expect(report.detail).toBe("Used the built-in digest because the model's summary failed: no such key.");
  });

  test("a failed model without a fallback is an error and leaves the session unchanged", async () => {
    const file = longSession();
    const before = readFileSync(file);
    const { run, home } = agentProject(refusing);
    writeFileSync(join(home, "settings.json"), '{"compaction": {"summarizer": {"fallback": "never"}}}');
    const { code, stderr } = await run(["compact", file]);
    expect(code).toBe(1);
    expect(stderr.replaceAll(/\s+/g, " ")).toContain("no such key");
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("an unknown model is an error, and the session stays as it is", async () => {
    const { cwd, env } = agentProject(model);
    const file = longSession();
    const { code, stderr } = await runCli(["compact", file, "--model", "nobody/x"], { cwd, env });
    expect(code).toBe(1);
    expect(stderr).toContain("provider_unknown");
  });
});

describe("bonsai goto --summarize --model", () => {
  test("the model summarises the branch that is left", async () => {
    const file = writeLines(sampleLines());
    const { code, stdout } = await agentProject(model).run([
      "goto",
      file,
      "aaaa0004",
      "--summarize",
      "--json",
    ]);
    const { summaryEntryId } = JSON.parse(stdout) as GotoReport;
    expect(code).toBe(0);
    const entry = openSession(file).entry(summaryEntryId!);
    expect(entry?.type === "branch_summary" && entry.summary).toContain("Make the parser right.");
  });

  test("one notice says why the provider did not summarise the branch", async () => {
    const file = writeLines(sampleLines());
    const { run, home } = agentProject(model);
    const compaction = { summarizer: { kind: "provider" } };
    writeFileSync(join(home, "settings.json"), JSON.stringify({ compaction }));
    const session = openSession(file);
    session.append(
      { type: "message", message: { role: "user", content: "Hi", timestamp: 1 } },
      { under: null },
    );
    session.close();
    for (const argv of [
      ["merge", file, "aaaa0004"],
      ["goto", file, "aaaa0004", "--summarize"],
    ]) {
      const { code, stderr } = await run(argv);
      expect(code).toBe(0);
      expect(stderr.match(/did not summarise the branch/g)).toHaveLength(1);
      expect(stderr.replaceAll(/\s+/g, " ")).toContain("no compaction by the provider. Bonsai sent");
    }
  });

  test("--model without --summarize has nothing to do", async () => {
    const { code, stderr } = await agentProject(model).run(["goto", writeLines(sampleLines()), "aaaa0004"]);
    expect(code).toBe(2);
    expect(stderr).toContain("--model");
  });
});
