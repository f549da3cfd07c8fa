import type { CompactionOutcome } from "@bonsai-agent/compaction";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineTool } from "../src/tools/tool-registry.ts";
import { unpaired } from "./pairs.ts";
import {
  calls,
  done,
  filledAgent,
  overflow,
  recordEvents,
  type ScriptedAgentOptions,
  sentText,
} from "./scripted-agent.ts";

const failing = { error: { status: 401, message: "invalid key" } };

/** Two turns that can be compacted, then what is under test. */
async function filled(options: Partial<ScriptedAgentOptions> = {}) {
  const run = await filledAgent(options);
  const asked: Promise<CompactionOutcome>[] = [];
  const ask = (focus?: string) => {
    asked.push(run.agent.requestCompaction(focus === undefined ? {} : { focus }));
  };
  const events = recordEvents(run.lifecycle);
  return { ...run, ask, events, outcomes: () => Promise.all(asked) };
}

type Run = Awaited<ReturnType<typeof filled>>;

/** Once, in the next call of a tool. */
function inTool(run: Run, act: () => void): void {
  const off = run.lifecycle.on("tool_call", () => {
    off();
    act();
  });
}

const starts = ({ events }: Run) => events.filter((name) => name === "auto_compaction_start");

test("an idle agent compacts at once, for the reason manual and with the focus", async () => {
  const run = await filled();
  expect(await run.agent.requestCompaction({ focus: "the tests" })).toMatchObject({
    status: "compacted",
    reason: "manual",
  });
  expect(sentText(run.summaries[0]!)).toContain("the tests");
  expect(run.agent.isBusy).toBe(false);
});

test("during a run it comes before the next request, and the task goes on by itself", async () => {
  const run = await filled({
    turn: [calls(), done],
    policy: { afterThreshold: "wait", manualKeep: "nothing" },
  });
  inTool(run, () => run.ask());
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(await run.outcomes()).toMatchObject([{ status: "compacted", reason: "manual" }]);
  expect(run.turns).toHaveLength(4);
  const { messages } = run.turns[3]!;
  expect(messages[0]!.role).toBe("compactionSummary");
  expect(unpaired(messages)).toEqual([]);
  // Results that the model has not seen stay word for word, regardless of `manualKeep`.
  expect(messages.at(-1)).toMatchObject({ role: "toolResult", content: [{ text: "echo " }] });
});

test("behind the last answer it comes before the run's promise resolves", async () => {
  const run = await filled();
  const off = run.lifecycle.on("turn_end", () => {
    off();
    run.ask();
  });
  await run.agent.prompt("go");
  expect(await run.outcomes()).toMatchObject([{ status: "compacted" }]);
  expect(run.events.slice(-5)).toEqual([
    ...["auto_compaction_start", "session_before_compact", "session_compact", "auto_compaction_end"],
    "agent_end",
  ]);
  expect(run.agent.isBusy).toBe(false);
});

test("behind the last answer `manualKeep` holds, for no task is under way", async () => {
  const run = await filled({ policy: { manualKeep: "nothing" } });
  const off = run.lifecycle.on("turn_end", () => {
    off();
    run.ask();
  });
  await run.agent.prompt("go");
  await run.outcomes();
  expect(run.session.projection().items.map(({ message }) => message.role)).toEqual(["compactionSummary"]);
});

test.each(["agent_end", "message_stored", "before_agent_start", "tool_result"] as const)(
  "asked for in %s, it comes, and nothing waits for ever",
  async (name) => {
    const run = await filled({ turn: [calls(), done] });
    const off = run.lifecycle.on(name, () => {
      off();
      run.ask();
    });
    expect((await run.agent.prompt("go")).status).toBe("done");
    expect(await run.outcomes()).toMatchObject([{ status: "compacted" }]);
    await run.agent.idle();
    expect(starts(run)).toHaveLength(1);
  },
);

test("a tool that asks and does not wait goes on", async () => {
  const asks = defineTool({
    name: "echo",
    description: "Asks.",
    parameters: z.object({}),
    execute: async () => {
      run.ask();
      return { content: [{ type: "text", text: "asked" }] };
    },
  });
  const run: Run = await filled({ turn: [calls(), done], tools: [asks] });
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(await run.outcomes()).toMatchObject([{ status: "compacted" }]);
});

test("several requests that wait are one compaction, with the focus of the first", async () => {
  const run = await filled({ turn: [calls(), done] });
  inTool(run, () => {
    for (const focus of ["the tests", undefined, "the names"]) run.ask(focus);
  });
  await run.agent.prompt("go");
  const outcomes = await run.outcomes();
  expect(new Set(outcomes).size).toBe(1);
  expect(outcomes[0]).toMatchObject({ status: "compacted" });
  expect(starts(run)).toHaveLength(1);
  expect(sentText(run.summaries[0]!)).toContain("the tests");
  expect(sentText(run.summaries[0]!)).not.toContain("the names");
});

test("a request while a compaction runs gets its outcome", async () => {
  const run = await filled();
  const off = run.lifecycle.on("session_before_compact", () => {
    off();
    run.ask();
    run.ask("the names");
  });
  run.ask("the tests");
  await run.agent.idle();
  const [first, joined, other] = await run.outcomes();
  expect(first).toMatchObject({ status: "compacted" });
  expect([joined, other]).toEqual([first, first]);
  expect(starts(run)).toHaveLength(1);
});

test("a request for the digest turns one that waits for a model into a digest", async () => {
  const run = await filled({ turn: [calls(), done] });
  let digest: Promise<CompactionOutcome> | undefined;
  inTool(run, () => {
    run.ask("the tests");
    digest = run.agent.requestCompaction({ useDigest: true });
  });
  await run.agent.prompt("go");
  expect(await run.outcomes()).toEqual([await digest]);
  expect(await digest).toMatchObject({ status: "compacted" });
  expect(run.summaries).toEqual([]);
  expect(starts(run)).toHaveLength(1);
});

test("a request at the threshold makes one compaction", async () => {
  const run = await filled({ turn: [calls({ tokens: 4_500 }), done] });
  inTool(run, () => run.ask());
  await run.agent.prompt("go");
  expect(await run.outcomes()).toMatchObject([{ status: "compacted", reason: "manual" }]);
  expect(starts(run)).toHaveLength(1);
});

test("a request during the recovery from an overflow finds nothing to compact", async () => {
  const run = await filled({ turn: [overflow, done] });
  const off = run.lifecycle.on("session_before_compact", () => {
    off();
    run.ask();
  });
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(await run.outcomes()).toMatchObject([{ status: "skipped" }]);
  expect(starts(run)).toHaveLength(2);
});

test("a run that fails is followed by it", async () => {
  const run = await filled({ turn: [calls(), failing] });
  run.lifecycle.on("turn_start", ({ turnIndex }) => {
    if (turnIndex === 1) run.ask();
  });
  expect((await run.agent.prompt("go")).status).toBe("failed");
  expect(await run.outcomes()).toMatchObject([{ status: "compacted" }]);
});

test("a stop by the user cancels a waiting request", async () => {
  const run = await filled({ turn: [calls(), done] });
  inTool(run, () => {
    run.ask();
    void run.agent.abort();
  });
  expect((await run.agent.prompt("go")).status).toBe("aborted");
  expect(await run.outcomes()).toMatchObject([
    {
      status: "cancelled",
      detail: "Compaction cancelled. The user stopped the agent before the compaction began.",
    },
  ]);
  expect(starts(run)).toEqual([]);
  expect(run.agent.isBusy).toBe(false);
});

test("cancelling it alone lets the run go on", async () => {
  const run = await filled({ turn: [calls(), done] });
  inTool(run, () => run.ask());
  run.lifecycle.on("session_before_compact", () => run.agent.cancelCompaction());
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(await run.outcomes()).toMatchObject([{ status: "cancelled" }]);
});

test("a move in the tree is followed by it", async () => {
  const run = await filled();
  await run.agent.prompt("small");
  const target = run.session.projection().items.at(-3)!.entryId;
  const off = run.lifecycle.on("session_before_tree", () => {
    off();
    run.ask();
  });
  await run.agent.navigate(target);
  expect(await run.outcomes()).toMatchObject([{ status: "compacted" }]);
});

test("a text that waits is delivered behind it", async () => {
  const run = await filled({ turn: [done] });
  let waiting: Promise<unknown> | undefined;
  const off = run.lifecycle.on("session_before_compact", () => {
    off();
    waiting = run.agent.prompt("next");
  });
  run.ask();
  await run.outcomes();
  expect(await waiting).toMatchObject({ status: "done" });
  expect(run.turns.at(-1)!.messages[0]!.role).toBe("compactionSummary");
});

test("a closed agent is asked in vain", async () => {
  const run = await filled();
  await run.agent.close();
  await expect(run.agent.requestCompaction()).rejects.toMatchObject({ code: "agent_closed" });
});
