import { callsIn, type Message } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { history, treeArbitrary } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type CompactionResult, compactionSettings, MASK_PLACEHOLDER, runCompaction } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

// Large results in a small window: here masks, splits and kept masks are frequent, which is counted.
const settings = compactionSettings(
  { keepRecentTokens: 6_000, mask: { protectTokens: 2_000, minimumTokens: 500 } },
  { estimator: "chars4" },
);
const windows = fc.constantFrom(10_000, 16_000, 30_000);
const trees = fc.tuple(
  treeArbitrary({ maxTokens: 4_000 }),
  treeArbitrary({ maxTokens: 4_000, compactions: false }),
);

const shown = (session: Session) => session.projection().items.map(({ entryId }) => entryId);
const withoutSummary = (session: Session) =>
  session
    .projection()
    .items.filter(({ message }) => message.role !== "compactionSummary")
    .map(({ entryId }) => entryId);

function expectPaired(session: Session): void {
  const calls = new Set<string>();
  const stored = new Set<string>();
  for (const entry of session.path())
    if (entry.type === "message") for (const { id } of callsIn(entry.message)) stored.add(id);
  for (const { message } of session.projection().items) {
    for (const { id } of callsIn(message as Message)) calls.add(id);
    if (message.role === "toolResult" && stored.has(message.toolCallId))
      expect(calls).toContain(message.toolCallId);
  }
}

function expectCarriedOut(session: Session, before: readonly string[], result: CompactionResult): void {
  const { summarizedEntryIds, turnPrefixEntryIds, keptEntryIds, maskedEntryIds, entryId } = result;
  expect([...summarizedEntryIds, ...turnPrefixEntryIds, ...keptEntryIds]).toEqual(before);
  if (result.status === "compacted") expect(shown(session)).toEqual([entryId, ...keptEntryIds]);
  else expect(withoutSummary(session)).toEqual(before);
  const masked = session
    .projection()
    .items.filter(
      ({ edit }) => edit?.replacement?.content === MASK_PLACEHOLDER && result.edits.includes(edit),
    );
  expect(masked.map((item) => item.entryId)).toEqual(
    keptEntryIds.filter((id) => maskedEntryIds.includes(id)),
  );
}

/** Commands of the user whose output was masked or shortened; the command itself never is. */
function editedCommands(session: Session, { edits }: CompactionResult): number {
  const commands = session
    .projection()
    .items.filter(({ edit, message }) => edits.includes(edit!) && message.role === "bashExecution");
  for (const { entry, message } of commands) {
    const stored = (entry as { message: { command: string; output: string } }).message;
    expect(message).toEqual({ ...stored, output: expect.any(String) });
    expect((message as typeof stored).output.length).toBeLessThan(stored.output.length);
  }
  return commands.length;
}

test("laws hold where the window is small and masks are frequent", async () => {
  const seen = { masked: 0, compacted: 0, split: 0, keptMasks: 0, commands: 0 };
  await fc.assert(
    fc.asyncProperty(trees, windows, async ([first, second], contextWindow) => {
      const { session } = history(first);
      history(second.replaceAll(/\bt(\d)/g, "n$1").replaceAll("T(t", "T(n"), session);
      const before = withoutSummary(session);
      const count = session.entries().length;
      const model = { contextWindow };
      const options = { session, settings, model, summariser: scriptedSummariser() };
      const result = await runCompaction({ ...options, reason: "threshold" });
      if (result.status === "masked" || result.status === "compacted") {
        expectCarriedOut(session, before, result);
        expect(result.tokensAfter).toBeLessThan(result.tokensBefore);
        seen[result.status] += 1;
        seen.commands += editedCommands(session, result);
      } else expect(session.entries()).toHaveLength(count);
      if (result.splitTurn) seen.split += 1;
      if (result.status === "compacted" && result.maskedEntryIds.length > 0) seen.keptMasks += 1;
      expectPaired(session);
    }),
  );
  expect(Math.min(seen.masked, seen.compacted, seen.keptMasks)).toBeGreaterThan(0);
  expect(seen.commands).toBeGreaterThan(0);
  expect(seen.split).toBeGreaterThan(0);
});
