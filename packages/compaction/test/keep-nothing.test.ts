import { everyRow, history, treeArbitrary } from "@bonsai-agent/testkit";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { compactionSettings, runCompaction, summarisePreparation } from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { compacted, messagesOf, model, past } from "./extension-summary.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

test("keepNothing summarises what would be kept too, and the engine takes a cut that keeps nothing", async () => {
  const summariser = scriptedSummariser();
  const own = await compacted({ notation: past, extension: summariser, asked: { keepNothing: true } });
  expect(own.errors).toEqual([]);
  expect(own.text.map(({ role }) => role)).toEqual(["compactionSummary"]);
  expect(own.result).toMatchObject({ status: "compacted", firstKeptEntryId: null, keptEntryIds: [] });
  expect(own.result.summarizedEntryIds).toHaveLength(7);
  expect(summariser.requests[0]?.messages).toHaveLength(7);
  // A second compaction changes nothing, and later messages are in the view.
  expect((await own.run()).status).toBe("nothing-to-compact");
  history("U:10", own.session);
  expect(messagesOf(own.session).map(({ role }) => role)).toEqual(["compactionSummary", "user"]);
});

const unanswered: readonly [about: string, notation: string, kept: string[]][] = [
  ["a prompt that was just typed", "U:30000 A:100 | U:90", ["u2"]],
  [
    "two prompts, a command, a message of an extension",
    "U:30000 A:100 | U:90 B X U:9",
    ["u2", "b1", "x1", "u3"],
  ],
  ["a prompt whose request failed", "U:30000 A:100 | U:90 A~error", ["u2", "a2"]],
  ["what was said after a request failed", "U:30000 A:100 | U:90 A~error U:9", ["u3"]],
  [
    "results, with the answer that asked for them",
    "U:30000 A:100 A(t1 t2):9 T1:90 T2:90",
    ["a2", "t1", "t2"],
  ],
  ["results, and what was said behind them", "U:30000 A(t1):9 T1:90 | U:9", ["a1", "t1", "u2"]],
  ["what was said after results were given up", "U:30000 A(t1):9 T1:90 A~error U:9", ["u2"]],
  ["a branch summary that was taken along", "U:30000 A:100 S:90", ["s1"]],
  ["nothing after an answer", "U:30000 A:100 | U:90 A(t1):9 T1:9 A:9", []],
];

test("keepNothing keeps the messages that the model has not answered", () =>
  everyRow(unanswered)(async ([, notation, kept]) => {
    const { session, name } = history(notation);
    const lifecycle = compactionLifecycle();
    const summariser = scriptedSummariser();
    lifecycle.on("session_before_compact", ({ preparation }) =>
      summarisePreparation({ preparation, summariser, keepNothing: true }),
    );
    const least = compactionSettings({ keepRecentTokens: 150 }, { estimator: "chars4" });
    const result = await runCompaction({ session, settings: least, model, lifecycle });
    expect(result.status).toBe("compacted");
    expect(result.keptEntryIds.map(name)).toEqual(kept);
    const seen = session.projection().items.slice(1);
    expect(seen.map(({ entryId }) => name(entryId))).toEqual(kept);
  }));

test("keepNothing gives the early part of the turn that goes on a summary of its own", async () => {
  const summariser = scriptedSummariser();
  const notation = "U:9000 A:9000 | U:90 A(t1):30000 T1:90 A(t2):9 T2:90";
  const own = await compacted({ notation, extension: summariser, asked: { keepNothing: true } });
  expect(summariser.requests.map(({ kind }) => kind)).toEqual(["history", "turnPrefix"]);
  expect(own.text.map(({ role }) => role)).toEqual(["compactionSummary", "assistant", "toolResult"]);
});

test("keepNothing summarises no less than would be summarised without it", async () => {
  const usual = await compacted({ notation: "U:30000 U:30000 U:90", extension: scriptedSummariser() });
  const own = await compacted({
    notation: "U:30000 U:30000 U:90",
    extension: scriptedSummariser(),
    asked: { keepNothing: true },
  });
  expect(usual.result.keptEntryIds).toHaveLength(2);
  expect(own.text.map(({ role }) => role)).toEqual(usual.text.map(({ role }) => role));
});

test("on any tree, keepNothing leaves only what no good answer came after", async () => {
  let compactions = 0;
  const law = fc.asyncProperty(treeArbitrary({ maxTokens: 400 }), async (notation) => {
    const extension = scriptedSummariser();
    // A tree can be smaller than what the summariser always says.
    const asked = { keepNothing: true, mayGrow: true };
    const small = { notation, extension, model: { contextWindow: 4_000 }, asked };
    const { text, result, errors } = await compacted({ ...small, reason: "manual" });
    expect(errors).toEqual([]);
    if (result.status !== "compacted") return;
    compactions += 1;
    const answer = text.findLastIndex(
      (each) => each.role === "assistant" && !["error", "aborted"].includes(each.stopReason),
    );
    if (answer < 0) return;
    expect([answer, text[answer + 1]?.role]).toEqual([1, "toolResult"]);
  });
  await fc.assert(law);
  expect(compactions).toBeGreaterThan(5);
});
