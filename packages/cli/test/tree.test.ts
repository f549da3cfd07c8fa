import { join } from "node:path";
import { everyRow, generateSession } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import type { TreeRow } from "../src/views/tree-view.ts";
import { header, sampleLines, testFolder, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";

describe("bonsai tree", () => {
  test("prints each entry as JSON, in file order", async () => {
    const rows = await jsonOf<TreeRow[]>(["tree", writeLines(sampleLines())]);
    expect(rows).toHaveLength(sampleLines().length - 1);
    expect(rows[0]).toEqual({
      id: "aaaa0001",
      parentId: null,
      type: "message",
      role: "user",
      preview: "Make the totals right. ␛[31mred␛[0m␇ and 日本語のテキスト",
      active: true,
    });
    expect(rows.find((row) => row.id === "bbbb0001")).toMatchObject({ label: "dead end", active: false });
    expect(rows.find((row) => row.id === "cccc0005")).not.toHaveProperty("role");
    const allowed = new Set(["id", "parentId", "type", "role", "preview", "label", "active"]);
    for (const row of rows) expect(Object.keys(row).filter((key) => !allowed.has(key))).toEqual([]);
    expect(rows.filter((row) => row.active).at(-1)!.id).toBe("cccc0007");
  });

  test("draws the branches at 40 and 80 columns, the active one first", () =>
    everyRow([80, 40])(async (columns) => {
      const { stdout } = await runCli(["tree", writeLines(sampleLines())], { columns });
      await expect(stdout).toMatchFileSnapshot(`golden/tree-${columns}.txt`);
    }));

  test("--all unfolds every entry", async () => {
    const { stdout } = await runCli(["tree", writeLines(sampleLines()), "--all"], { columns: 80 });
    for (const line of sampleLines().slice(1)) expect(stdout).toContain((line as { id: string }).id);
    await expect(stdout).toMatchFileSnapshot("golden/tree-all-80.txt");
  });

  test("folds a long run between its first and last turns", async () => {
    const file = join(testFolder(), "long.jsonl");
    generateSession({ file, entries: 600, branchiness: 0, labels: 0, averageBytes: 600 });
    const { stdout } = await runCli(["tree", file], { columns: 80 });
    expect(stdout.split("\n").length).toBeLessThan(20);
    expect(stdout).toMatch(/⋮ \d+ turns, [\d,]+ entries/);
    expect(stdout).toContain("◀ here");
  });

  test("does not run out of stack or room on a comb of 5,000 branch points", async () => {
    const { stdout, code } = await runCli(["tree", writeLines([header, ...comb(5000)])], { columns: 60 });
    expect(code).toBe(0);
    expect(stdout).toContain("5,001 branches");
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(60);
  });

  test("marks a compaction that was taken back", async () => {
    const compaction = {
      ...{ type: "compaction", id: "00000002", parentId: "00000001", timestamp: "2026-01-01T00:00:00.000Z" },
      ...{ summary: "All of it.", firstKeptEntryId: "00000001", tokensBefore: 1_000 },
    };
    const undo = { type: "custom", customType: "bonsai.undo", data: { compactionId: "00000002" } };
    const place = { id: "00000003", parentId: "00000002", timestamp: compaction.timestamp };
    const lines = [header, user("00000001", null), compaction];
    const treeOf = async (all: unknown[]) =>
      (await runCli(["tree", writeLines(all as object[])], { columns: 80 })).stdout;
    expect(await treeOf(lines)).toContain("compaction of 1,000 tokens All of it.");
    expect(await treeOf([...lines, { ...undo, ...place }])).toContain(
      "compaction undone of 1,000 tokens All",
    );
  });

  test("shows every entry of a file with several roots", async () => {
    const lines = [header, user("00000001", null), user("00000002", null), user("00000003", "00000002")];
    const { stdout } = await runCli(["tree", writeLines(lines)], { columns: 60 });
    expect(stdout).toMatch(/^00000002 ├─● user/);
    expect(stdout).toMatch(/^00000001 ╰─○ user/m);
  });

  test("hides the record of a moved leaf, but not its children", async () => {
    const lines = [
      header,
      user("00000001", null),
      user("00000002", "00000001"),
      { ...user("00000003", "00000001"), type: "custom", customType: "bonsai.leaf" },
    ];
    const { stdout } = await runCli(["tree", writeLines(lines)], { columns: 60 });
    expect(stdout).not.toContain("00000003");
    expect(stdout).toContain("00000001 ◉ user");
    expect(stdout).toContain("1 branch ");
  });
});

function user(id: string, parentId: string | null): object {
  const timestamp = "2026-11-20T09:00:00.000Z";
  return {
    type: "message",
    id,
    parentId,
    timestamp,
    message: { role: "user", content: `words of ${id}`, timestamp: 1 },
  };
}

/** A spine of which each entry has a side branch. */
function comb(points: number): object[] {
  const spine = (at: number) => at.toString(16).padStart(8, "0");
  return Array.from({ length: points }, (_, at) => [
    user(spine(at), at === 0 ? null : spine(at - 1)),
    user(`f${spine(at).slice(1)}`, spine(at)),
  ])
    .flat()
    .concat(user(spine(points), spine(points - 1)));
}
