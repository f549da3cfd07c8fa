import { readFileSync } from "node:fs";
import { openSession } from "@bonsai-agent/session";
import { describe, expect, test } from "vitest";
import type { GotoReport } from "../src/commands/session-edit.ts";
import type { TreeRow } from "../src/views/tree-view.ts";
import { sampleLines, writeLines } from "./call/sample-session.ts";
import { teller, throwing, withExtensions } from "./session-command-project.ts";

describe("bonsai goto -e", () => {
  test("runs the hooks of /tree, each once", async () => {
    const { json, told } = withExtensions({ "tell.ts": teller() });
    const file = writeLines(sampleLines());
    const report = await json<GotoReport>("goto", file, "aaaa0004", "--summarize", "-e", "tell.ts");
    expect(report).toMatchObject({ code: 0, previousLeafId: "cccc0007" });
    expect(told()).toEqual(["session_start", "session_before_tree", "session_tree", "session_shutdown"]);
  });

  test("an extension's summary hangs under the new position, with its name", async () => {
    const mine = `export default (bonsai) => bonsai.on("session_before_tree", ({ preparation }) => ({
      summary: { summary: "Left " + preparation.entriesToSummarize.length + " entries.", details: { own: true } },
      label: "before the cache",
    }));`;
    const { json, run } = withExtensions({ "mine.js": mine });
    const file = writeLines(sampleLines());
    const report = await json<GotoReport>("goto", file, "aaaa0004", "--summarize", "-e", "mine.js");
    expect(report).toMatchObject({ code: 0, decidedBy: "mine.js" });
    const session = openSession(file);
    expect(session.entry(report.summaryEntryId!)).toMatchObject({
      parentId: "aaaa0004",
      fromHook: true,
      details: { own: true },
      summary: expect.stringMatching(/^Left \d+ entries\.$/),
    });
    const rows = JSON.parse((await run(["tree", file, "--json"])).stdout) as TreeRow[];
    expect(rows.find(({ id }) => id === report.summaryEntryId)?.label).toBe("before the cache");
    const again = await run(["goto", writeLines(sampleLines()), "aaaa0004", "--summarize", "-e", "mine.js"]);
    expect(again.stdout).toContain("written by mine.js");
  });

  test("an extension's refusal changes nothing", async () => {
    const no = `export default (bonsai) => bonsai.on("session_before_tree", () => ({ cancel: true }));`;
    const { json, run } = withExtensions({ "no.js": no });
    const file = writeLines(sampleLines());
    const before = readFileSync(file);
    const { stderr, ...report } = await json<GotoReport>("goto", file, "aaaa0004", "-e", "no.js");
    expect(report).toEqual({
      code: 130,
      status: "cancelled",
      leafId: "cccc0007",
      previousLeafId: "cccc0007",
      decidedBy: "no.js",
    });
    expect(stderr).toBe("");
    const human = await run(["goto", file, "aaaa0004", "-e", "no.js"]);
    expect([human.code, human.stdout]).toEqual([130, expect.stringContaining("Cancelled by no.js")]);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("an extension that throws is reported, and the default summary is made", async () => {
    const { json } = withExtensions({ "broken.ts": throwing("session_before_tree") });
    const file = writeLines(sampleLines());
    const report = await json<GotoReport>("goto", file, "aaaa0004", "--summarize", "-e", "broken.ts");
    expect(report.code).toBe(0);
    expect(report.summaryEntryId).toBeDefined();
    expect(report.decidedBy).toBeUndefined();
    expect(report.stderr).toContain("it broke");
  });
});
