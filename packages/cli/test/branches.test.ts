import { readFileSync } from "node:fs";
import { openSession } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import type { MergeReport } from "../src/commands/session-edit.ts";
import type { BranchDiffReport } from "../src/views/branch-diff.ts";
import { header, sampleLines, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

/** Two branches below aaaa0004; the session stands at the end of the second. */
const [parting, deadEnd, here] = ["aaaa0004", "bbbb0002", "cccc0007"];

describe("bonsai diff", () => {
  test("shows the common ancestor of two branches and the work of each", async () => {
    const file = writeLines(sampleLines());
    const before = readFileSync(file);
    const report = await jsonOf<BranchDiffReport>(["diff", file, deadEnd, here]);
    expect(report).toMatchObject({
      relation: "parted",
      commonAncestor: { entryId: parting, kind: "assistant" },
      commonEntries: 4,
      a: { leaf: { entryId: deadEnd }, turns: 1, lastAnswer: { entryId: deadEnd } },
      b: { leaf: { entryId: here } },
    });
    const path = openSession(file).path(deadEnd);
    expect(report.a.entryIds).toEqual(path.slice(report.commonEntries).map(({ id }) => id));
    expect(report.a.words.said.map(({ text }) => text)).toEqual(["Try a cache"]);
    expect(await jsonOf(["diff", file, deadEnd])).toEqual(report);
    expect(await jsonOf(["diff", file, "dead end"])).toMatchObject({ a: { leaf: { label: "dead end" } } });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("fits the terminal", async () => {
    const file = writeLines(sampleLines());
    for (const columns of [40, 120]) {
      const { stdout } = await runCli(["diff", file, deadEnd, here], { columns });
      const lines = stdout.split("\n");
      expect(lines.every((line) => line.length <= columns)).toBe(true);
      expect(lines[0]).toContain("A and B split");
    }
  });

  test("a comparison names the relation of one path's entries", () =>
    everyRow([
      [[here, here], "same", "A and B are the same entry"],
      [[here, parting], "ahead", "has no entries of its own"],
      [[parting, here], "behind", "has no entries of its own"],
    ])(async ([[a, b], relation, words]) => {
      const file = writeLines(sampleLines());
      expect(await jsonOf(["diff", file, a!, b!])).toMatchObject({ relation });
      expect((await runCli(["diff", file, a!, b!], { columns: 200 })).stdout).toContain(words);
    }));

  test("two roots have nothing in common", async () => {
    const file = writeLines(sampleLines());
    const session = openSession(file);
    const message = { role: "user" as const, content: "from the start", timestamp: 1 };
    const { id } = session.append({ type: "message", message }, { under: null });
    session.close();
    const { relation, commonAncestor, commonEntries } = await jsonOf<BranchDiffReport>([
      "diff",
      file,
      deadEnd,
      id,
    ]);
    expect([relation, commonAncestor, commonEntries]).toEqual(["unrelated", null, 0]);
    expect((await runCli(["diff", file, deadEnd, id])).stdout).toContain("no common entry");
  });
});

test("a path that is too long keeps its file's name, in files, commands and the line of a place", async () => {
  const folder = "packages/services/pricing/rules/implementation/discounts";
  const call = (id: string, name: string, args: object) => ({ type: "toolCall", id, name, arguments: args });
  const work = (id: string, parentId: string | null, message: object) => ({
    ...{ type: "message", id, parentId, timestamp: "2026-01-05T09:00:00.000Z" },
    message: { timestamp: 0, ...message },
  });
  const result = (toolCallId: string) => ({
    role: "toolResult",
    toolCallId,
    toolName: "bash",
    content: [],
    isError: false,
  });
  const file = writeLines([
    header,
    work("aaaa0001", null, { role: "user", content: "Begin" }),
    work("aaaa0002", "aaaa0001", {
      role: "assistant",
      content: [
        call("1", "bash", { command: `pnpm vitest run ${folder}/rounding.test.ts` }),
        call("2", "write", { path: `${folder}/discount-rules.ts`, content: "x" }),
      ],
    }),
    work("aaaa0003", "aaaa0002", result("1")),
    work("aaaa0004", "aaaa0003", result("2")),
    work("aaaa0005", "aaaa0004", {
      role: "assistant",
      content: [call("3", "read", { path: `${folder}/totals.ts` })],
    }),
    work("bbbb0001", "aaaa0001", { role: "user", content: "Another way" }),
  ]);
  const { stdout } = await runCli(["diff", file, "aaaa0005", "bbbb0001"], { columns: 60 });
  for (const name of ["rounding.test.ts", "discount-rules.ts", "totals.ts"])
    expect(stdout).toMatch(new RegExp(`…/\\S*${name}`));
});

/** The sample, whose path has a summary of the other branch already; that branch went on since. */
function grownSample() {
  const file = writeLines(sampleLines());
  const session = openSession(file);
  const message = { role: "user" as const, content: "Try a ledger", timestamp: 1 };
  const { id } = session.append({ type: "message", message }, { under: deadEnd });
  session.moveTo(here);
  session.close();
  return { file, end: id };
}

describe("bonsai merge", () => {
  test("merges a branch's new entries once", async () => {
    const { file, end } = grownSample();
    const report = await jsonOf<MergeReport>(["merge", file, end, "--label", "ledger"]);
    expect(report).toMatchObject({ status: "merged", previousLeafId: here, branchId: end, entryIds: [end] });
    expect(report.summary).toContain("Try a ledger");
    expect(report.summary).not.toContain("Try a cache");
    const session = openSession(file);
    expect(session.entry(report.summaryEntryId!)).toMatchObject({ parentId: here, fromId: end });
    expect(session.label(report.summaryEntryId!)).toBe("ledger");
    const before = readFileSync(file);
    const again = await jsonOf<MergeReport>(["merge", file, end]);
    expect(again).toMatchObject({ status: "unchanged", entryIds: [], mergedById: report.summaryEntryId });
    expect((await runCli(["merge", file, deadEnd])).stdout).toContain("Nothing to merge");
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("a refused merge leaves the file unchanged", () =>
    everyRow([
      [parting, "merge_own_path"],
      [here, "merge_own_path"],
      ["nosuch", "entry_not_found"],
    ])(async ([branch, code]) => {
      const file = writeLines(sampleLines());
      const before = readFileSync(file);
      const { stderr, code: exit } = await runCli(["merge", file, branch, "--json"]);
      expect([exit, JSON.parse(stderr).error.code]).toEqual([1, code]);
      expect(readFileSync(file).equals(before)).toBe(true);
    }));

  test("Ctrl-C changes nothing", async () => {
    const { file, end } = grownSample();
    const before = readFileSync(file);
    const signal = AbortSignal.abort();
    expect((await runCli(["merge", file, end], { signal })).code).toBe(130);
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});
