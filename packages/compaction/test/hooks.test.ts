import type { LifecycleNotice } from "@bonsai-agent/lifecycle";
import { everyRow, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import type { BeforeCompactResult } from "../src/events.ts";
import { compact } from "../src/flow/compaction.ts";
import {
  CompactionController,
  type CompactionSettingsInput,
  compactionSettings,
  manifestOf,
} from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const settingsFor = (input: CompactionSettingsInput = {}) =>
  compactionSettings({ keepRecentTokens: 200, ...input }, { estimator: "chars4" });
const model = { contextWindow: 60_000 };

function stage(notation = "U:30000 A(t1):30000 T1:9 A:9 | U:100 A:100", input?: CompactionSettingsInput) {
  const log: string[] = [];
  const notices: LifecycleNotice[] = [];
  const lifecycle = compactionLifecycle(notices);
  const past = history(notation);
  const summariser = scriptedSummariser();
  const summarise = summariser.summarise.bind(summariser);
  summariser.summarise = (request) => {
    log.push("summarise");
    return summarise(request);
  };
  const run = (signal?: AbortSignal) =>
    compact({
      session: past.session,
      settings: settingsFor(input),
      model,
      summariser,
      lifecycle,
      reason: "threshold",
      onCommitted: () => log.push(`lock released at ${past.session.entries().length}`),
      ...(signal === undefined ? {} : { signal }),
    });
  return { ...past, lifecycle, log, notices, run, summariser };
}

test("case 31: two extensions: before 1, before 2, save, after 1, after 2, end event", async () => {
  const { lifecycle, log, run, session } = stage();
  for (const source of ["1", "2"]) {
    lifecycle.on("session_before_compact", () => void log.push(`before ${source}`), { source });
    lifecycle.on(
      "session_compact",
      ({ compactionEntry }) => {
        expect(session.entries().at(-1)).toEqual(compactionEntry);
        log.push(`after ${source}`);
      },
      { source },
    );
  }
  lifecycle.on("auto_compaction_start", ({ reason }) => void log.push(`start ${reason}`));
  lifecycle.on(
    "auto_compaction_end",
    ({ aborted, outcome }) => void log.push(`end ${outcome.status} ${aborted}`),
  );
  const entries = session.entries().length;
  await run();
  expect(log).toEqual([
    "start threshold",
    "before 1",
    "before 2",
    "summarise",
    `lock released at ${entries + 1}`,
    "after 1",
    "after 2",
    "end compacted false",
  ]);
});

test("case 31: a cancel in 1 skips 2, saves nothing, and the end event says aborted", async () => {
  const { lifecycle, log, run, session } = stage();
  lifecycle.on("session_before_compact", () => ({ cancel: true, reason: "not now" }), { source: "1" });
  lifecycle.on("session_before_compact", () => void log.push("before 2"), { source: "2" });
  lifecycle.on("session_compact", () => void log.push("after"));
  lifecycle.on("auto_compaction_end", ({ aborted }) => void log.push(`aborted ${aborted}`));
  const before = JSON.stringify(session.entries());
  const result = await run();
  expect(result).toMatchObject({ status: "cancelled", detail: "Compaction cancelled. not now" });
  expect(log).toEqual([expect.stringContaining("lock released"), "aborted true"]);
  expect(JSON.stringify(session.entries())).toBe(before);
});

test("case 32: a handler that throws: the default summary is saved, the report names extension, event and cause", async () => {
  const { lifecycle, notices, run } = stage();
  const cause = new Error("cannot count");
  lifecycle.on(
    "session_before_compact",
    () => {
      throw cause;
    },
    { source: "counter" },
  );
  expect((await run()).status).toBe("compacted");
  expect(notices).toEqual([
    expect.objectContaining({
      type: "handler_error",
      event: "session_before_compact",
      source: "counter",
      error: cause,
    }),
  ]);
});

test("a handler registered to fail closed cancels by throwing", async () => {
  const { lifecycle, run } = stage();
  lifecycle.on(
    "session_before_compact",
    () => {
      throw new Error("refuse");
    },
    { source: "guard", onError: "cancel" },
  );
  expect(await run()).toMatchObject({ status: "cancelled", detail: "Compaction cancelled. refuse" });
});

test("an extension's summary is stored as it is, with its own cut, details and usage", async () => {
  const { lifecycle, run, summariser, id, session } = stage();
  lifecycle.on("session_before_compact", ({ preparation }) => {
    expect(preparation).toMatchObject({
      firstKeptEntryId: id("u2"),
      isSplitTurn: false,
      tokensBefore: 60_218,
    });
    expect(preparation.messagesToSummarize).toHaveLength(4);
    const { tokensBefore } = preparation;
    return {
      compaction: { summary: "Mine.", firstKeptEntryId: id("a2"), tokensBefore, details: { mine: 1 } },
    };
  });
  const result = await run();
  expect(result).toMatchObject({
    status: "compacted",
    rung: "extension",
    firstKeptEntryId: id("a2"),
    requests: 0,
  });
  expect(result.entry).toMatchObject({ summary: "Mine.", details: { mine: 1 }, fromHook: true });
  expect(result.keptEntryIds).toEqual([id("a2"), id("u2"), id("a3")]);
  expect(summariser.requests).toEqual([]);
  expect(session.projection().items.map((item) => item.entryId)).toEqual([
    result.entryId,
    ...result.keptEntryIds,
  ]);
});

test("an extension's cut at an unknown or illegal entry is refused", () =>
  everyRow([
    ["first_kept_entry_unknown", () => "nowhere"],
    ["first_kept_entry_illegal", (id: (name: string) => string) => id("t1")],
  ])(async ([code, target]) => {
    const { lifecycle, run, id, session } = stage();
    const before = JSON.stringify(session.entries());
    lifecycle.on("session_before_compact", ({ preparation: { tokensBefore } }) => ({
      compaction: { summary: "Mine.", firstKeptEntryId: target(id), tokensBefore },
    }));
    const failures: string[] = [];
    lifecycle.on("session_compact_failed", ({ error }) => void failures.push(error!.message));
    expect(await run()).toMatchObject({ status: "failed", error: { code } });
    expect(failures).toHaveLength(1);
    expect(JSON.stringify(session.entries())).toBe(before);
  }));

test("an extension's cut is refused at the summary of an earlier compaction", async () => {
  const { lifecycle, run, id } = stage("U:9 A:9 C(a1) U:30000 A(t1):30000 T1:9 A:9 | U:100 A:100");
  lifecycle.on("session_before_compact", () => ({
    compaction: { summary: "Mine.", firstKeptEntryId: id("c1"), tokensBefore: 1 },
  }));
  expect(await run()).toMatchObject({ status: "failed", error: { code: "first_kept_entry_illegal" } });
});

test("entries that a handler of the start event writes are part of the compaction", async () => {
  const { lifecycle, session, summariser } = stage();
  const settings = settingsFor();
  const controller = new CompactionController({
    session,
    summariser,
    lifecycle,
    settings,
    model: () => model,
  });
  let written: string | undefined;
  lifecycle.on("auto_compaction_start", () => {
    const message = { role: "user" as const, content: "And then?", timestamp: 0 };
    written = session.append({ type: "message", message }).id;
  });
  expect((await controller.checkThreshold({ site: "beforePrompt" })).status).toBe("compacted");
  expect(manifestOf(session.projection().compaction)?.kept?.last).toBe(written);
});

test("an empty summary of an extension is refused", async () => {
  const { lifecycle, run, id } = stage();
  const compaction = { summary: " ", firstKeptEntryId: id("u2"), tokensBefore: 1 };
  lifecycle.on("session_before_compact", () => ({ compaction }));
  expect(await run()).toMatchObject({ status: "failed", error: { code: "extension_summary_empty" } });
});

test("two extensions that both supply a summary: the later stands, and both are named", async () => {
  const { lifecycle, notices, run, id } = stage();
  const own = (summary: string) => (): BeforeCompactResult => ({
    compaction: { summary, firstKeptEntryId: id("u2"), tokensBefore: 1 },
  });
  lifecycle.on("session_before_compact", own("First."), { source: "one" });
  lifecycle.on("session_before_compact", own("Second."), { source: "two" });
  lifecycle.on("session_before_compact", () => ({}), { source: "three" });
  expect((await run()).summary).toBe("Second.");
  expect(notices).toEqual([expect.objectContaining({ type: "conflict", sources: ["one", "two"] })]);
});

test("a mask can be vetoed, or some results kept; the masked ones are notified", async () => {
  const notation = "U:10 A(t1):10 T1:25000 A(t2):10 T2:15000 A:10 | U:10 A(t3):10 T3:20000 A:10";
  const offered: string[][] = [];
  const kept = stage(notation, { mask: { protectTokens: 20_000 } });
  kept.lifecycle.on("session_before_mask", ({ results }) => {
    offered.push(results.map(({ entryId }) => kept.name(entryId)));
    return { keep: [results[1]?.entryId ?? ""] };
  });
  kept.lifecycle.on("session_mask", ({ entries, freedTokens, reason }) => {
    kept.log.push(...entries.map((entry) => kept.name(entry.targetId)), reason);
    expect(freedTokens).toBeGreaterThan(24_000);
  });
  expect(await kept.run()).toMatchObject({ status: "masked", maskedEntryIds: [kept.id("t1")] });
  expect(offered).toEqual([["t1", "t2"]]);
  expect(kept.log).toEqual([expect.stringContaining("lock released"), "t1", "threshold"]);
  expect(kept.notices).toEqual([]);
  const vetoed = stage(notation, { mask: { protectTokens: 20_000 } });
  vetoed.lifecycle.on("session_before_mask", () => ({ cancel: true }));
  expect(await vetoed.run()).toMatchObject({ status: "compacted", maskedEntryIds: [] });
});

test("an abort while a handler runs cancels, and the handler has the signal", async () => {
  const { lifecycle, run, session, log } = stage();
  const abort = new AbortController();
  const seen: boolean[] = [];
  lifecycle.on("session_before_compact", ({ signal }) => {
    seen.push(signal.aborted);
    abort.abort();
    seen.push(signal.aborted);
  });
  const before = JSON.stringify(session.entries());
  expect((await run(abort.signal)).status).toBe("cancelled");
  expect(seen).toEqual([false, true]);
  expect(log).toEqual([expect.stringContaining("lock released")]);
  expect(JSON.stringify(session.entries())).toBe(before);
});
