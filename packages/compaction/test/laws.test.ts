import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callsIn, type Message } from "@bonsai-agent/messages";
import { createSession, openSession, type Session } from "@bonsai-agent/session";
import { history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type CompactionResult, compactionSettings, planCompaction, runCompaction } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-laws-"));

const trees = treeArbitrary({ maxTokens: 400 });
const keep = fc.integer({ min: 0, max: 1500 });
const settingsFor = (keepRecentTokens: number) =>
  compactionSettings(
    { keepRecentTokens, mask: { protectTokens: 2_000, minimumTokens: 500 } },
    { estimator: "chars4" },
  );

const ids = (session: Session) =>
  session
    .projection()
    .items.filter((item) => item.message.role !== "compactionSummary")
    .map((item) => item.entryId);
const spansOf = (result: CompactionResult) => [
  ...result.summarizedEntryIds,
  ...result.turnPrefixEntryIds,
  ...result.keptEntryIds,
];
const compact = (session: Session, keepTokens: number) =>
  runCompaction({ session, settings: settingsFor(keepTokens), digest: scriptedSummariser() });

let files = 0;
function onDisk(notation: string): { session: Session; file: string } {
  files += 1;
  const file = join(folder, `${files}.jsonl`);
  return { session: history(notation, createSession({ cwd: "/project", file })).session, file };
}

test("Invariant: history, turn prefix and kept are the projection without the previous summary, disjoint and in order", () => {
  fc.assert(
    fc.property(trees, keep, (notation, keepTokens) => {
      const { session } = history(notation);
      const plan = planCompaction({ session, settings: settingsFor(keepTokens) });
      expect(spansOf(plan)).toEqual(ids(session));
      if (plan.status === "planned") expect(plan.firstKeptEntryId).toBe(plan.keptEntryIds[0] ?? null);
    }),
  );
});

test("Invariant: a legal cut never stands between a tool call and any of its results", () => {
  fc.assert(
    fc.property(trees, keep, (notation, keepTokens) => {
      const { session } = history(notation);
      const plan = planCompaction({ session, settings: settingsFor(keepTokens) });
      const kept = new Set(plan.keptEntryIds);
      for (const [call, result] of pairs(session)) expect(kept.has(call)).toBe(kept.has(result));
    }),
  );
});

test("planning right after a commit finds nothing to do", async () => {
  await fc.assert(
    fc.asyncProperty(trees, keep, async (notation, keepTokens) => {
      const { session } = history(notation);
      const result = await compact(session, keepTokens);
      fc.pre(result.status === "compacted");
      const again = planCompaction({ session, settings: settingsFor(keepTokens) });
      expect(again.status).toBe("already-compacted");
      expect(again.maskedEntryIds).toEqual([]);
    }),
  );
});

test("the model sees the summary and the plan's kept entries after a commit", async () => {
  await fc.assert(
    fc.asyncProperty(trees, keep, async (notation, keepTokens) => {
      const { session } = history(notation);
      const result = await compact(session, keepTokens);
      fc.pre(result.status === "compacted");
      const seen = session.projection().items.map((item) => item.entryId);
      expect(seen).toEqual([result.entryId, ...result.keptEntryIds]);
    }),
  );
});

test("two compactions lose nothing: every message is in exactly one summary, or kept", async () => {
  await fc.assert(
    fc.asyncProperty(
      trees,
      treeArbitrary({ maxTokens: 400, compactions: false, branches: false }),
      keep,
      async (notation, more, keepTokens) => {
        const { session } = history(notation);
        const before = ids(session);
        const first = await compact(session, keepTokens);
        fc.pre(first.status === "compacted");
        history(more.replaceAll(/\bt(\d)/g, "n$1").replaceAll("T(t", "T(n"), session);
        const omitted = new Set(first.keptEntryIds.filter((id) => !ids(session).includes(id)));
        const all = [...first.summarizedEntryIds, ...first.turnPrefixEntryIds, ...ids(session)];
        const second = await compact(session, keepTokens);
        const covered = [...first.summarizedEntryIds, ...first.turnPrefixEntryIds, ...spansOf(second)];
        expect(covered).toEqual(all);
        for (const id of before) if (!omitted.has(id)) expect(covered).toContain(id);
      },
    ),
  );
});

test("a reload changes no projection", async () => {
  await fc.assert(
    fc.asyncProperty(trees, keep, async (notation, keepTokens) => {
      const { session, file } = onDisk(notation);
      await compact(session, keepTokens);
      const { items } = session.projection();
      session.close();
      const reopened = openSession(file);
      expect(reopened.projection().items).toEqual(JSON.parse(JSON.stringify(items)));
      reopened.close();
    }),
  );
});

test.each([
  ["cancelled while the summary is made", "cancelled"],
  ["failed", "failed"],
])("a compaction that is %s leaves the file byte-identical", async (_, status) => {
  await fc.assert(
    fc.asyncProperty(trees, keep, async (notation, keepTokens) => {
      const { session, file } = onDisk(notation);
      const before = readFileSync(file);
      const projection = session.projection().items;
      const abort = new AbortController();
      const summariser = scriptedSummariser();
      summariser.summarise = async () => {
        if (status === "cancelled") abort.abort();
        throw new Error("no connection");
      };
      const result = await runCompaction({
        session,
        // The digest would stand in.
        settings: { ...settingsFor(keepTokens), summarizer: { kind: "auto", fallback: "never" } },
        summariser,
        signal: abort.signal,
      });
      // These outcomes request no summary: there is nothing to summarise, or masks are enough.
      fc.pre(!["nothing-to-compact", "already-compacted", "masked"].includes(result.status));
      expect(result.status).toBe(status);
      expect(readFileSync(file).equals(before)).toBe(true);
      expect(session.projection().items).toEqual(projection);
      session.close();
    }),
  );
});

test("undoing a compaction brings the former context back", async () => {
  await fc.assert(
    fc.asyncProperty(trees, keep, async (notation, keepTokens) => {
      const { session } = history(notation);
      const settings = compactionSettings(
        { keepRecentTokens: keepTokens, mask: { enabled: false } },
        { estimator: "chars4" },
      );
      const before = session.projection().items;
      const result = await runCompaction({ session, settings, digest: scriptedSummariser() });
      fc.pre(result.entryId !== undefined);
      session.undoCompaction(result.entryId ?? "");
      expect(session.projection().items).toEqual(before);
    }),
  );
});

/** Entry ids of each call's message and of each of its results, as far as both are in the context. */
function pairs(session: Session): Array<[call: string, result: string]> {
  const latest = new Map<string, string>();
  return session.projection().items.flatMap(({ entryId, message }): Array<[string, string]> => {
    for (const call of callsIn(message as Message)) latest.set(call.id, entryId);
    const call = message.role === "toolResult" ? latest.get(message.toolCallId) : undefined;
    return call === undefined ? [] : [[call, entryId]];
  });
}
