import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { GotoReport } from "../src/commands/session-edit.ts";
import type { ContextItem } from "../src/views/context-report.ts";
import type { TreeRow } from "../src/views/tree-view.ts";
import { longSession, sampleLines, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

describe("bonsai goto", () => {
  test("a user message leads to its parent and gives its text back", async () => {
    const file = writeLines(sampleLines());
    expect(await jsonOf<GotoReport>(["goto", file, "bbbb0001"])).toEqual({
      leafId: "aaaa0004",
      previousLeafId: "cccc0007",
      editorText: "Try a cache",
    });
    const rows = await jsonOf<TreeRow[]>(["tree", file]);
    expect(rows.filter((row) => row.active).map((row) => row.id)).toEqual([
      "aaaa0001",
      "aaaa0002",
      "aaaa0003",
      "aaaa0004",
    ]);
  });

  test("a label is put on the entry, also where that is the position already", async () => {
    const file = writeLines(sampleLines());
    for (const label of ["dead end", "the same"]) {
      await jsonOf(["goto", file, "bbbb0002", "--label", label]);
      const rows = await jsonOf<TreeRow[]>(["tree", file]);
      expect(rows.find(({ id }) => id === "bbbb0002")).toMatchObject({ label });
    }
  });

  test("a root message leads to an empty context", async () => {
    const file = writeLines(sampleLines());
    expect(await jsonOf<GotoReport>(["goto", file, "aaaa0001"])).toMatchObject({ leafId: null });
    expect(await jsonOf(["context", file])).toEqual([]);
  });

  test("any other entry becomes the position; the beginning of its id is enough", async () => {
    const file = writeLines(sampleLines());
    expect(await jsonOf<GotoReport>(["goto", file, "bbbb0002"])).toEqual({
      leafId: "bbbb0002",
      previousLeafId: "cccc0007",
    });
    expect(await jsonOf<GotoReport>(["goto", file, "cccc0003"])).toMatchObject({
      previousLeafId: "bbbb0002",
    });
  });

  test("an unknown id is refused and the file stays as it is", async () => {
    const file = writeLines(sampleLines());
    const before = readFileSync(file);
    const { code, stderr, stdout } = await runCli(["goto", file, "deadbeef", "--json"]);
    expect([code, stdout]).toEqual([1, ""]);
    expect(JSON.parse(stderr).error.code).toBe("entry_not_found");
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("goto to the current leaf writes nothing", async () => {
    const file = writeLines(sampleLines());
    const before = readFileSync(file);
    expect((await runCli(["goto", file, "cccc0007"])).stdout).toContain("still at cccc0007");
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("--summarize hangs a summary of the branch left under the new position", async () => {
    const file = longSession();
    const rows = await jsonOf<TreeRow[]>(["tree", file]);
    const target = rows.filter((row) => row.role === "assistant")[2]!.id;
    const leaf = rows.at(-1)!.id;
    const report = await jsonOf<GotoReport>(["goto", file, target, "--summarize", "--focus", "the tests"]);
    expect(report).toMatchObject({ previousLeafId: leaf, leafId: report.summaryEntryId });
    const summary = (await jsonOf<TreeRow[]>(["tree", file])).find((row) => row.id === report.summaryEntryId);
    expect(summary).toMatchObject({ parentId: target, type: "branch_summary", active: true });
    expect(summary!.preview).not.toBe("");
    const context = await jsonOf<ContextItem[]>(["context", file]);
    expect(context.at(-1)).toMatchObject({ entryId: report.summaryEntryId, role: "branchSummary" });
  });

  test("--summarize says so where no branch was left to summarise", async () => {
    const file = writeLines(sampleLines());
    const rows = await jsonOf<TreeRow[]>(["tree", file, "--all"]);
    const target = rows.find(({ active }) => active)!;
    await runCli(["goto", file, target.id]);
    const leaf = rows.findLast(({ active }) => active)!;
    const { stdout } = await runCli(["goto", file, leaf.id, "--summarize"]);
    expect(stdout).toContain("Wrote no summary: this move removes no message from the context.");
    const { stdout: asked } = await runCli(["goto", file, target.id]);
    expect(asked).not.toContain("summary was made");
  });

  test("--summarize that is interrupted moves nothing", async () => {
    const file = longSession();
    const before = readFileSync(file);
    const target = (await jsonOf<TreeRow[]>(["tree", file]))[3]!.id;
    const { code } = await runCli(["goto", file, target, "--summarize"], { signal: AbortSignal.abort() });
    expect(code).toBe(130);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("--focus without --summarize is wrong usage", async () => {
    const { code, stderr } = await runCli(["goto", writeLines(sampleLines()), "aaaa0002", "--focus", "x"]);
    expect(code).toBe(2);
    expect(stderr).toContain("[wrong_usage]");
  });

  test("a human sees the start of a long message", async () => {
    const [head, first] = sampleLines() as [object, { message: object }];
    const content = Array.from({ length: 300 }, (_, at) => `line ${at}`).join("\n");
    const file = writeLines([head, { ...first, message: { ...first.message, content } }]);
    const { stdout } = await runCli(["goto", file, "aaaa0001"]);
    expect(stdout).toContain("line 19\n");
    expect(stdout).not.toContain("line 20");
    expect(stdout).toContain("… 280 more lines (--json shows all)");
  });

  test("shows the former and the current leaf and the message to rewrite", async () => {
    const { stdout } = await runCli(["goto", writeLines(sampleLines()), "cccc0002"], { columns: 60 });
    await expect(stdout).toMatchFileSnapshot("golden/goto-60.txt");
  });
});
