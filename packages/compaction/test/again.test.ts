import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSession, type Session } from "@bonsai-agent/session";
import { generateWorkday, history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { countAhead } from "../src/host.ts";
import { compactionSettings, manifestOf, planCompaction, readContext, runCompaction } from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-again-"));
const model = { contextWindow: 200_000 };
const keeping = (keepRecentTokens: number) => compactionSettings({ keepRecentTokens });

/** Tokens of the context, read anew. */
function tokensNow(session: Session): number {
  return readContext({ session }).tokens;
}

test("right after a compaction, a smaller keep budget compacts further; the same one does not", async () => {
  const file = join(folder, "day.jsonl");
  generateWorkday({ file, seed: 3, entries: 600 });
  const session = openSession(file);
  let tokens = Number.POSITIVE_INFINITY;
  for (const keepTokens of [20_000, 8_000, 3_000]) {
    const settings = keeping(keepTokens);
    const plan = planCompaction({ session, settings, model });
    const result = await runCompaction({ session, settings, model });
    expect([result.status, plan.status]).toEqual(["compacted", "planned"]);
    expect(result.keptEntryIds).toEqual(plan.keptEntryIds);
    expect(result.tokensAfter).toBeLessThan(tokens);
    expect(result.tokensAfter).toBe(tokensNow(session));
    tokens = result.tokensAfter;
    expect(manifestOf(result.entry)?.settings).toMatchObject({ keepTokens, windowTokens: 200_000 });
    const before = readFileSync(file);
    for (const again of [keepTokens, keepTokens * 2]) {
      const { status } = await runCompaction({ session, settings: keeping(again), model });
      expect(status).toBe("already-compacted");
    }
    expect(readFileSync(file).equals(before)).toBe(true);
  }
  session.close();
});

test("a smaller budget that keeps just as much is already compacted", async () => {
  const { session } = history("U:9000 A:10 | U:10 A(t1):10 T1:9000");
  const settings = (keepRecentTokens: number) =>
    compactionSettings({ keepRecentTokens }, { estimator: "chars4" });
  const summariser = scriptedSummariser();
  expect((await runCompaction({ session, settings: settings(1_000), summariser })).status).toBe("compacted");
  expect((await runCompaction({ session, settings: settings(500), summariser })).status).toBe(
    "already-compacted",
  );
});

test("masks and an extension's summary keep the calibration that usage taught", async () => {
  const rounds = Array.from({ length: 6 }, (_, at) => `A(t${at}):10@${20_000 + at * 12_000} T${at}:8000`);
  const { session, id } = history(`U:10 A:10@12000 | U:10 ${rounds.join(" ")} A:10@92000 | U:10 A:10@92100`);
  const settings = compactionSettings({ mask: { protectTokens: 10_000, minimumTokens: 1_000 } });
  const before = readContext({ session, estimator: settings.estimator }).calibration()!;
  expect(before.samples).toBeGreaterThanOrEqual(4);
  expect(before.ratio).not.toBe(1);
  const small = { contextWindow: 100_000 };
  const masked = await runCompaction({ session, settings, model: small, reason: "threshold" });
  expect(masked.status).toBe("masked");
  expect(masked.edits.every((edit) => edit.type === "context_edit")).toBe(true);
  const { overheadTokens: _, ...learned } = before;
  expect(readContext({ session, estimator: settings.estimator }).calibration()).toMatchObject(learned);
  expect(tokensNow(session)).toBe(masked.tokensAfter);

  const lifecycle = compactionLifecycle();
  lifecycle.on("session_before_compact", () => ({
    compaction: { summary: "Mine.", firstKeptEntryId: id("u3"), tokensBefore: 1 },
  }));
  const theirs = await runCompaction({ session, settings: keeping(5), model, lifecycle });
  expect(theirs).toMatchObject({ status: "compacted", rung: "extension" });
  expect(readContext({ session, estimator: settings.estimator }).calibration()).toMatchObject(learned);
  expect(tokensNow(session)).toBe(theirs.tokensAfter);
});

test("a context whose size is reported is read without counting its messages", () => {
  const rounds = Array.from({ length: 6 }, (_, at) => `U:2000 A:10@${2_000 + at * 2_000}`);
  const { session } = history(rounds.join(" "));
  const counted = countReads(session);
  const read = () => readContext({ session });
  expect(read()).toMatchObject({ source: "usage", trailingTokens: 0 });
  expect(counted()).toBe(0);
  session.append({ type: "message", message: { role: "user", content: "And then?", timestamp: 0 } });
  expect(read()).toMatchObject({ source: "usage", usageIndex: 11 });
  expect(counted()).toBeGreaterThan(0);
});

test("messages that were counted ahead are not counted again", () => {
  const rounds = Array.from({ length: 6 }, (_, at) => `U:2000 A:10@${2_000 + at * 2_000}`);
  const { session } = history(`${rounds.join(" ")} U:50`);
  const counted = countReads(session);
  for (const _ of countAhead(session)) expect(counted()).toBeGreaterThan(0);
  const before = counted();
  expect([...countAhead(session)]).toEqual([]);
  expect(counted()).toBe(before);
  const { trailingTokens } = readContext({ session });
  expect(trailingTokens).toBeGreaterThan(0);
});

/** How often the contents of messages have been looked at. */
function countReads(session: Session): () => number {
  let reads = 0;
  for (const { message } of session.projection().items) {
    const { content } = message as { content: unknown };
    const get = () => {
      reads += 1;
      return content;
    };
    Object.defineProperty(message, "content", { get });
  }
  return () => reads;
}
