import type { UndoReport } from "@bonsai-agent/compaction";
import { expect, test } from "vitest";
import type { ContextItem } from "../src/views/context-report.ts";
import { sampleLines, writeLines } from "./call/sample-session.ts";
import { jsonOf, runCli } from "./run-cli.ts";
import { teller, withExtensions } from "./session-command-project.ts";

const reported = [
  "compactionId",
  "entryId",
  "tokensBefore",
  "estimatedTokensBefore",
  "tokensAfter",
  "estimatedTokensAfter",
];

test("bonsai undo restores the whole history", async () => {
  const file = writeLines(sampleLines());
  const report = await jsonOf<UndoReport>(["undo", file]);
  expect(Object.keys(report)).toEqual(reported);
  expect(report.compactionId).toBe("cccc0005");
  const items = await jsonOf<ContextItem[]>(["context", file]);
  expect(items[0]!.entryId).toBe("aaaa0001");
  const again = await runCli(["undo", file, "--json"]);
  expect(again.code).toBe(1);
  expect(JSON.parse(again.stderr).error.code).toBe("nothing_to_undo");
});

test("bonsai redo reverts the latest undo once", async () => {
  const file = writeLines(sampleLines());
  const before = await jsonOf<ContextItem[]>(["context", file]);
  const { compactionId } = await jsonOf<UndoReport>(["undo", file]);
  const report = await jsonOf<UndoReport>(["redo", file]);
  expect(Object.keys(report)).toEqual(reported);
  expect(report.compactionId).toBe(compactionId);
  expect(await jsonOf<ContextItem[]>(["context", file])).toEqual(before);
  const again = await runCli(["redo", file, "--json"]);
  expect(again.code).toBe(1);
  expect(JSON.parse(again.stderr).error.code).toBe("nothing_to_redo");
});

test("an extension of -e hears an undo and a redo with their entries", async () => {
  const fields = '[event.type, event.isUndone, event.entry?.id, event.compactionEntry?.id].join(" ")';
  const { json, told } = withExtensions({ "tell.ts": teller(fields) });
  const file = writeLines(sampleLines());
  const undone = await json<UndoReport>("session", "undo", file, "-e", "tell.ts");
  const redone = await json<UndoReport>("session", "redo", file, "-e", "tell.ts");
  const heard = told().filter((line) => line.startsWith("session_compact_undo"));
  expect(heard).toEqual([
    `session_compact_undo true ${undone.entryId} cccc0005`,
    `session_compact_undo false ${redone.entryId} cccc0005`,
  ]);
});
