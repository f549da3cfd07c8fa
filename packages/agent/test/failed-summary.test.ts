import type { CompactionOutcome } from "@bonsai-agent/compaction";
import type { ScenarioAnswer } from "@bonsai-agent/models/scripted";
import type { CompactionEntry } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import {
  actor,
  calls,
  filler,
  overflow,
  type ScriptedAgentOptions,
  scriptedAgent,
  summary,
} from "./scripted-agent.ts";

const down = { error: { status: 401, message: "the summariser has no key" } };
const MINUTE = 60_000;
const LONG = filler(4_000);

/**
 * An agent whose prompts fill its window every few times, and whose summaries fail; and a clock. Answers are short: each
 * compaction cuts at a prompt, and so takes one request.
 */
function failing(options: Partial<ScriptedAgentOptions> = {}) {
  const time = { ms: 1_700_000_000_000 };
  const run = scriptedAgent({
    turn: () => ({ text: "done" }),
    summary: () => down,
    now: () => time.ms,
    // Each is to be waited for, so that one sees who was asked.
    settings: { compaction: { background: false } },
    ...options,
  });
  const outcomes: CompactionOutcome[] = [];
  run.lifecycle.on("auto_compaction_end", ({ outcome }) => void outcomes.push(outcome));
  const rungs = () =>
    run.session
      .entries()
      .filter((entry): entry is CompactionEntry => entry.type === "compaction")
      .map(({ details }) => (details as { manifest: { rung: string } }).manifest.rung);
  /** Prompts until so many compactions have ended. */
  const untilCompactions = async (count: number) => {
    for (let prompt = 0; outcomes.length < count && prompt < 20; prompt++)
      expect((await run.agent.prompt(LONG)).status).toBe("done");
    expect(outcomes).toHaveLength(count);
  };
  const pass = (minutes: number) => {
    time.ms += minutes * MINUTE;
  };
  return { ...run, outcomes, rungs, untilCompactions, pass };
}

test("no session waits for a broken summariser: one request, then the digest at once", async () => {
  const { summaries, outcomes, rungs, untilCompactions, pass, notices } = failing();
  await untilCompactions(1);
  expect(outcomes[0]?.detail).toContain("Used the built-in digest because the model's summary failed: ");
  expect(outcomes[0]?.detail).toContain("the summariser has no key");
  expect(summaries).toHaveLength(1);
  pass(2);
  await untilCompactions(3);
  for (const { detail } of outcomes.slice(1))
    expect(detail).toContain("The model's summary failed 2 minutes ago.");
  expect(rungs()).toEqual(["digest", "digest", "digest"]);
  expect(summaries).toHaveLength(1);
  expect(notices).toEqual([]);
});

test("ten minutes later, and with another model, the model is asked again", async () => {
  const answers: ScenarioAnswer[] = [down, down, summary];
  const { agent, summaries, rungs, untilCompactions, pass } = failing({
    summary: () => answers.shift() ?? down,
  });
  await untilCompactions(1);
  pass(10);
  await untilCompactions(2);
  expect(summaries).toHaveLength(2);
  await agent.setModel({ ...actor, id: "another" });
  await untilCompactions(3);
  expect(summaries).toHaveLength(3);
  expect(rungs()).toEqual(["digest", "digest", "summarise"]);
});

test("/compact asks the model again, and a summary that succeeds ends the matter", async () => {
  const answers: ScenarioAnswer[] = [down, summary, summary];
  const { agent, summaries, rungs, untilCompactions } = failing({ summary: () => answers.shift() ?? down });
  await untilCompactions(1);
  await agent.prompt(LONG);
  expect((await agent.compact()).detail).not.toContain("failed");
  await untilCompactions(3);
  expect(rungs()).toEqual(["digest", "summarise", "summarise"]);
  expect(summaries.length).toBeGreaterThanOrEqual(3);
});

test("an overflow after a failure is recovered from without a request to the summariser", async () => {
  const turns: ScenarioAnswer[] = [];
  const { agent, session, summaries, outcomes, untilCompactions } = failing({
    turn: () => turns.shift() ?? { text: "done" },
  });
  await untilCompactions(1);
  const asked = summaries.length;
  turns.push(calls({ tokens: 10 }), overflow, { text: "done" });
  expect((await agent.prompt("go")).status).toBe("done");
  expect(outcomes.at(-1)).toMatchObject({ status: "compacted", reason: "overflow" });
  expect(outcomes.at(-1)?.detail).toContain("Bonsai asks the model again in");
  expect(summaries).toHaveLength(asked);
  expect(session.projection().items[0]?.message.role).toBe("compactionSummary");
});

test("a compaction that the user cancelled is no failure of the model", async () => {
  const { agent, summaries, outcomes, untilCompactions } = failing({
    summary: () => {
      if (summaries.length === 1) agent.cancelCompaction();
      return summary;
    },
  });
  await untilCompactions(2);
  expect(outcomes.map(({ status }) => status)).toEqual(["cancelled", "compacted"]);
  expect(outcomes[1]?.detail).not.toContain("failed");
});

test("an extension's own failure is none of the model's", async () => {
  const { lifecycle, summaries, outcomes, untilCompactions } = failing({ summary: () => summary });
  lifecycle.on("session_before_compact", () => {
    throw new Error("the extension is broken");
  });
  await untilCompactions(2);
  expect(outcomes.map(({ detail }) => detail).join(" ")).not.toContain("failed");
  expect(summaries).toHaveLength(2);
});

test("the digest by request asks no model, and keeps the focus", async () => {
  const { agent, session, summaries } = failing({
    settings: { compaction: { enabled: false, summarizer: { fallback: "never" } } },
  });
  for (const text of [LONG, LONG, LONG]) await agent.prompt(text);
  expect(await agent.compact()).toMatchObject({ status: "failed", digestIsUntried: true });
  expect(summaries).toHaveLength(1);
  expect(await agent.compact({ useDigest: true, focus: "the door" })).toMatchObject({ status: "compacted" });
  expect(summaries).toHaveLength(1);
  expect(session.projection().compaction?.details).toMatchObject({ manifest: { rung: "digest" } });
});

test("a request for the digest does not wait for a running request to the model", async () => {
  const { agent, summaries } = failing({
    settings: { compaction: { enabled: false } },
    summary: () => ({ ...summary, delayMs: 600_000 }),
  });
  for (const text of [LONG, LONG, LONG]) await agent.prompt(text);
  const slow = agent.requestCompaction();
  while (summaries.length === 0) await new Promise(setImmediate);
  const digest = agent.requestCompaction({ useDigest: true });
  expect((await slow).status).toBe("cancelled");
  expect(await digest).toMatchObject({ status: "compacted", reason: "manual" });
  expect(summaries).toHaveLength(1);
});
