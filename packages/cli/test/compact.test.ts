import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import type { CompactionReport } from "../src/views/compact-view.ts";
import type { ContextItem } from "../src/views/context-report.ts";
import type { SessionReport } from "../src/views/session-report.ts";
import { header, longSession, sampleLines, testFolder, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

const fields = [
  "status",
  "reason",
  "rung",
  "tokensBefore",
  "estimatedTokensBefore",
  "tokensAfter",
  "sizes",
  "steps",
  "firstKeptEntryId",
  "splitTurn",
  "summarizedEntryIds",
  "turnPrefixEntryIds",
  "keptEntryIds",
  "readFiles",
  "modifiedFiles",
  "summary",
  "entryId",
  "requests",
  "carried",
  "loss",
  "costUsd",
];

function contextIds(file: string): Promise<string[]> {
  return jsonOf<ContextItem[]>(["context", file]).then((items) => items.map((item) => item.entryId));
}

describe("bonsai compact", () => {
  test("warns if the context is still larger than the window", async () => {
    const at = "2026-01-05T09:00:00.000Z";
    const texts = [...Array(8).fill("Look at this and that. ".repeat(400)), "A huge one. ".repeat(20_000)];
    const entries = texts.map((content, index) => ({
      ...{ type: "message", id: `a000000${index}`, parentId: index === 0 ? null : `a000000${index - 1}` },
      ...{ timestamp: at, message: { role: "user", content, timestamp: index } },
    }));
    const file = writeLines([header, ...entries]);
    const { code, stdout } = await runCli(["compact", file, "--digest", "--window", "32k"], { columns: 100 });
    expect(code).toBe(0);
    expect(stdout.replaceAll(/\s+/g, " ")).toMatch(
      /The context still has ~[\d,]+ tokens; the model's window is 32,000\. Lower/,
    );
  });

  test("-o compacts a copy and leaves the session byte for byte", async () => {
    const file = longSession();
    const before = readFileSync(file);
    const copy = join(testFolder(), "copy.jsonl");
    const report = await jsonOf<CompactionReport>(["compact", file, "--digest", "-o", copy]);
    expect(Object.keys(report)).toEqual(fields);
    expect(report).toMatchObject({ status: "compacted", reason: "manual", costUsd: 0 });
    expect(report.tokensAfter).toBeLessThan(report.tokensBefore);
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(await contextIds(copy)).toEqual([report.entryId, ...report.keptEntryIds]);
    expect(report.keptEntryIds[0]).toBe(report.firstKeptEntryId);
  });

  test("without -o appends to the session, and keeps every earlier byte", async () => {
    const file = longSession();
    const before = readFileSync(file);
    const report = await jsonOf<CompactionReport>(["compact", file]);
    expect(report.status).toBe("compacted");
    expect(readFileSync(file).subarray(0, before.length).equals(before)).toBe(true);
    const { compaction } = await jsonOf<SessionReport>(["show", file]);
    expect(compaction).toMatchObject({ summary: report.summary, compactionCount: 1 });
  });

  test("--dry-run reports the same and writes nothing", async () => {
    const file = longSession();
    const before = readFileSync(file);
    const planned = await jsonOf<CompactionReport>(["compact", file, "--dry-run"]);
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(planned.status).toBe("planned");
    expect(planned).not.toHaveProperty("entryId");
    const done = await jsonOf<CompactionReport>(["compact", file]);
    const same = [
      "tokensBefore",
      "tokensAfter",
      "sizes",
      "keptEntryIds",
      "summarizedEntryIds",
      "turnPrefixEntryIds",
    ] as const;
    const alike = ["readFiles", "modifiedFiles", "firstKeptEntryId", "summary", "carried", "loss"] as const;
    for (const field of [...same, ...alike]) {
      expect(planned[field]).toEqual(done[field]);
    }
  });

  test("draws the plan at 40 and 80 columns", () =>
    everyRow([80, 40])(async (columns) => {
      const { stdout } = await runCli(["compact", longSession(), "--dry-run"], { columns });
      expect(stdout).toMatch(/^Plan {2}~?[\d,]+ → ~[\d,]+ tokens/);
      expect(stdout).toContain("summarised");
      expect(stdout).toMatch(/╞═+╡ {2}cut/);
      expect(stdout).toContain("kept");
      expect(stdout).toMatch(/^before .*\nafter /m);
      expect(stdout).toMatch(/^Files modified/m);
      for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(columns);
    }));

  test("prints its result and how to undo it", async () => {
    const file = longSession();
    const { stdout } = await runCli(["compact", file], { columns: 80 });
    expect(stdout).toMatch(/^Compacted {2}/);
    expect(stdout).toMatch(/Kept word for word: \d+ user messages.*\nThe check found nothing missing: /);
    expect(stdout).toContain("bonsai session undo");
    expect(stdout).toContain(file);
  });

  test("everything fits: nothing to compact, and no byte is written", async () => {
    const file = writeLines(sampleLines());
    const before = readFileSync(file);
    expect(await jsonOf(["compact", file])).toMatchObject({ status: "nothing-to-compact" });
    expect((await runCli(["compact", file])).stdout).toContain("Nothing to compact");
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("directly after a compaction: already compacted", async () => {
    const file = longSession();
    await jsonOf(["compact", file]);
    expect(await jsonOf(["compact", file])).toMatchObject({ status: "already-compacted" });
    expect(await jsonOf(["compact", file, "--dry-run"])).toMatchObject({ status: "already-compacted" });
  });

  test("compacts again with a smaller --keep", async () => {
    const file = longSession();
    const copy = join(testFolder(), "copy.jsonl");
    const sizes = [(await jsonOf<CompactionReport>(["compact", file, "-o", copy])).tokensAfter];
    const again = await runCli(["compact", copy], { columns: 40 });
    expect([again.code, again.stdout.replaceAll("\n", " ")]).toEqual([
      0,
      expect.stringContaining("To compact further, use a smaller `--keep`, such as `--keep 8k`."),
    ]);
    for (const keep of ["8000", "4000"]) {
      const report = await jsonOf<CompactionReport>(["compact", copy, "--keep", keep, "--digest"]);
      expect(report.status).toBe("compacted");
      sizes.push(report.tokensAfter);
    }
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect((await jsonOf<SessionReport>(["show", copy])).compaction!.compactionCount).toBe(3);
  });

  test("--before chooses the first kept entry, also in a dry run, and explains a refusal", async () => {
    const file = longSession();
    const items = await jsonOf<ContextItem[]>(["context", file]);
    const [first] = items;
    const prompt = items.findLast(({ role }, at) => role === "user" && at < items.length / 2)!;
    const asked = ["compact", file, "--before", prompt.entryId];
    const planned = await jsonOf<CompactionReport>([...asked, "--dry-run"]);
    expect(planned).toMatchObject({ status: "planned", firstKeptEntryId: prompt.entryId });
    const before = readFileSync(file);
    const refused = await runCli(["compact", file, "--before", first!.entryId, "--dry-run"], {
      columns: 400,
    });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("No entry before it can be summarised.");
    expect(readFileSync(file)).toEqual(before);
    expect(await jsonOf<CompactionReport>(asked)).toMatchObject({ status: "compacted" });
    expect((await contextIds(file))[1]).toBe(prompt.entryId);
  });

  test("--again repeats the latest compaction from the original entries with another focus", async () => {
    const file = writeLines(manyFacts());
    const asked = ["compact", file, "--keep", "4k"];
    expect((await runCli(["compact", file, "--again"], { columns: 400 })).stderr).toContain(
      "The current branch has no compaction.",
    );
    const former = await jsonOf<CompactionReport>(asked);
    const untold = factNames.filter((name) => !former.summary?.includes(name))[0]!;
    const again = ["compact", file, "--again", "--focus", untold];
    const planned = await jsonOf<CompactionReport>([...again, "--dry-run"]);
    expect(planned.summary).toContain(untold);
    const shown = await runCli([...again, "--dry-run"], { columns: 100 });
    expect(shown.stdout).toContain("Plan");
    const anew = await jsonOf<CompactionReport>(again);
    expect(anew).toMatchObject({
      tokensAfter: planned.tokensAfter,
      firstKeptEntryId: former.firstKeptEntryId,
    });
    expect(anew.summary).toContain(untold);
    expect((await jsonOf<SessionReport>(["show", file])).compaction).toMatchObject({
      compactionCount: 1,
      previousSummary: null,
    });
    expect(await jsonOf(["undo", file])).toMatchObject({ compactionId: anew.entryId });
    expect((await contextIds(file))[0]).toBe(former.entryId);
  });

  test("--focus decides which facts a full summary keeps", async () => {
    const file = writeLines(manyFacts());
    const summary = async (...flags: string[]) =>
      (await jsonOf<CompactionReport>(["compact", file, "--dry-run", "--keep", "4k", ...flags])).summary;
    const plain = await summary();
    const untold = factNames.filter((name) => !plain?.includes(name))[0]!;
    expect(await summary("--focus", untold)).toContain(untold);
  });

  test("Ctrl-C ends with 130, changes nothing and writes no copy", async () => {
    const file = longSession();
    const before = readFileSync(file);
    const copy = join(testFolder(), "copy.jsonl");
    const signal = AbortSignal.abort(new Error("Interrupted by Ctrl-C"));
    const inPlace = await runCli(["compact", file, "--json"], { signal });
    expect(inPlace.code).toBe(130);
    expect(JSON.parse(inPlace.stdout).status).toBe("cancelled");
    expect((await runCli(["compact", file, "-o", copy], { signal })).code).toBe(130);
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(existsSync(copy)).toBe(false);
  });

  test("a compaction that cannot be written is an error with exit code 1, and a failed status", async () => {
    const [, ...lines] = readFileSync(longSession(), "utf8").trim().split("\n");
    const file = writeLines([{ ...header, version: 99 }, ...lines.map((line) => JSON.parse(line))]);
    const before = readFileSync(file);
    const { code, stdout, stderr } = await runCli(["compact", file, "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ status: "failed" });
    expect(JSON.parse(stderr.trim().split("\n").at(-1)!).error.code).toBe("session_read_only");
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});

const factNames = Array.from({ length: 600 }, (_, at) => `service${at}x`);

/** More facts than a summary has room for. */
function manyFacts(): object[] {
  const ids = factNames.map((_, at) => (0xaaaa0000 + at).toString(16));
  return [
    header,
    ...factNames.map((name, at) => {
      const content = `Never restart ${name} before its queue number ${at * 7} is drained.`;
      const message = { role: "user", content, timestamp: 0 };
      return {
        type: "message",
        id: ids[at],
        parentId: ids[at - 1] ?? null,
        timestamp: header.timestamp,
        message,
      };
    }),
  ];
}
