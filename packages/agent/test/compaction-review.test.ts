import type { CompactionDraft, ReviewDecision } from "@bonsai-agent/compaction";
import { expect, test } from "vitest";
import { calls, done, filledAgent, filler, overflow, type ScriptedAgentOptions } from "./scripted-agent.ts";

const always = { compaction: { confirm: "always" } };

const filled = (options: Partial<ScriptedAgentOptions> = {}) => filledAgent({ settings: always, ...options });

type Decide = (draft: CompactionDraft) => ReviewDecision | Promise<ReviewDecision>;

/** A reviewer that remembers what it was shown; behind the last decision, all is applied. */
function reviewer(...decisions: Decide[]) {
  const drafts: CompactionDraft[] = [];
  return {
    drafts,
    reviewCompaction: async (draft: CompactionDraft): Promise<ReviewDecision> => {
      drafts.push(draft);
      return decisions[drafts.length - 1]?.(draft) ?? { action: "apply" };
    },
  };
}

const cancel = (): ReviewDecision => ({ action: "cancel" });

test("between tool calls the agent waits for the decision; declined, the task goes on without another try", async () => {
  const turn = [calls({ tokens: 4_000 }), calls({ tokens: 100 }), calls({ tokens: 100 }), done];
  const seen: boolean[] = [];
  const { drafts, reviewCompaction } = reviewer(() => {
    seen.push(run.agent.isBusy, run.agent.isCompacting);
    return cancel();
  });
  const run = await filled({ turn, reviewCompaction });
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(drafts.map(({ stage, reason }) => [stage, reason])).toEqual([["plan", "threshold"]]);
  expect(seen).toEqual([true, true]);
  expect(run.session.projection().compaction).toBeUndefined();
  expect(run.notices).toEqual([]);
});

test("a text sent during a review is queued and delivered", async () => {
  const queued: boolean[] = [];
  const { reviewCompaction } = reviewer(() => {
    void run.agent.prompt("and be quick", { behavior: "steer" });
    queued.push(run.agent.hasPendingMessages);
    return { action: "apply" };
  });
  const run = await filled({ turn: [calls({ tokens: 4_000 }), done, done], reviewCompaction });
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(queued).toEqual([true]);
  expect(run.session.projection().compaction).toBeDefined();
  expect(JSON.stringify(run.session.projection().items)).toContain("and be quick");
});

test("an overflow is recovered from once it is applied", async () => {
  const { drafts, reviewCompaction } = reviewer();
  const run = await filled({ turn: [overflow, done], reviewCompaction });
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(drafts.map(({ stage, reason }) => [stage, reason])).toEqual([
    ["plan", "overflow"],
    ["ready", "overflow"],
  ]);
  expect(run.session.projection().compaction).toBeDefined();
});

test("an overflow that is declined ends the run as one that is cancelled", async () => {
  const { reviewCompaction } = reviewer(cancel);
  const run = await filled({ turn: [overflow], reviewCompaction });
  const result = await run.agent.prompt("go");
  expect(result).toMatchObject({ status: "aborted" });
  expect(result.error).toBeUndefined();
  expect(run.session.projection().compaction).toBeUndefined();
});

test.each(["abort", "cancelCompaction"] as const)("%s ends a review", async (way) => {
  const { drafts, reviewCompaction } = reviewer(() => {
    void run.agent[way]();
    return new Promise<ReviewDecision>(() => {});
  });
  const run = await filled({ reviewCompaction });
  expect(await run.agent.compact()).toMatchObject({ status: "cancelled" });
  expect(drafts[0]?.signal.aborted).toBe(true);
  expect(run.agent.isBusy).toBe(false);
});

test("compacts without review when there is no UI, and notifies once", async () => {
  const run = await filled({ turn: [done, done] });
  expect(await run.agent.compact()).toMatchObject({ status: "compacted" });
  for (const size of [4_000, 8_000]) await run.agent.prompt(filler(size));
  expect(await run.agent.compact()).toMatchObject({ status: "compacted" });
  const codes = run.notices.map(({ code }) => code);
  expect(codes.filter((code) => code === "compaction_not_reviewed")).toHaveLength(1);
});

test("a sub-agent's compactions are made at once, and nothing is said of that", async () => {
  const run = await filled({ isSubAgent: true });
  expect(await run.agent.compact()).toMatchObject({ status: "compacted" });
  expect(run.notices).toEqual([]);
});

test("a setting of now holds: switched off, nobody is asked", async () => {
  const { drafts, reviewCompaction } = reviewer();
  const run = await filled({ reviewCompaction });
  const { compaction } = run.agent.settings;
  run.agent.setCompactionSettings({ ...compaction, confirm: "never" });
  expect(await run.agent.compact()).toMatchObject({ status: "compacted" });
  expect(drafts).toEqual([]);
});
