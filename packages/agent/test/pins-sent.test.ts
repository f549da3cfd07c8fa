import { pinMessage, pinnedTexts, unpinMessage } from "@bonsai-agent/compaction";
import { expect, test } from "vitest";
import {
  calls,
  filler,
  overflow,
  type ScriptedAgent,
  scriptedAgent,
  sentText,
  summary,
} from "./scripted-agent.ts";

const RULE = "Never push to main.";
const quiet = { triggerTurn: false };

function times(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** How often the rule was in each request for a turn, oldest first. */
function sent({ turns }: ScriptedAgent): number[] {
  return turns.map((call) => times(sentText(call), RULE));
}

test("each request holds what is pinned once, before and after compactions by all reasons", async () => {
  const run = scriptedAgent({
    turn: (_call, count) => (count === 6 ? overflow : { text: `done ${count}` }),
  });
  const { agent, session, lifecycle } = run;
  const reasons: string[] = [];
  lifecycle.on("session_compact", ({ reason }) => void reasons.push(reason));
  await agent.prompt(filler(1_000));
  await agent.sendMessage(pinMessage(session, RULE), quiet);
  await agent.prompt(filler(9_000));
  await agent.requestCompaction();
  await agent.prompt(filler(5_000));
  await agent.prompt(filler(6_000));
  await agent.prompt(filler(1_000));
  await agent.prompt("go on");
  expect(sent(run)).toEqual(run.turns.map((_call, at) => (at === 0 ? 0 : 1)));
  expect(reasons).toEqual(["manual", "threshold", "overflow"]);
});

test("a text pinned twice during a run is in the next request once", async () => {
  const run = scriptedAgent({ turn: [calls(), { text: "done" }, { text: "done" }] });
  const { agent, session, lifecycle } = run;
  lifecycle.on("tool_call", () => {
    for (let time = 0; time < 2; time += 1)
      void agent.sendMessage(pinMessage(session, RULE, agent.waitingMessages), quiet);
    expect(agent.waitingMessages).toHaveLength(2);
    return undefined;
  });
  await agent.prompt("go");
  await agent.prompt("and on");
  expect(sent(run)).toEqual([0, 1, 1]);
  expect(agent.waitingMessages).toEqual([]);
});

test("a text pinned during the summary stays pinned after it", async () => {
  const pins: Promise<unknown>[] = [];
  const run: ScriptedAgent = scriptedAgent({
    turn: (_call, count) => ({ text: `done ${count}` }),
    summary: () => {
      pins.push(run.agent.sendMessage(pinMessage(run.session, RULE), quiet));
      return summary;
    },
  });
  const { agent, session } = run;
  for (const size of [4_000, 8_000]) await agent.prompt(filler(size));
  expect(await agent.requestCompaction()).toMatchObject({ status: "compacted" });
  await Promise.all(pins);
  await agent.prompt("go on");
  expect(pinnedTexts(session)).toEqual([RULE]);
  expect(sent(run)).toEqual([0, 0, 1]);
});

test("an unpinned text is marked while a summary contains it, then disappears", async () => {
  const run = scriptedAgent({ turn: (_call, count) => ({ text: `done ${count}` }) });
  const { agent, session } = run;
  for (const size of [2_000, 8_000]) await agent.prompt(filler(size));
  await agent.sendMessage(pinMessage(session, RULE), quiet);
  await agent.requestCompaction();
  await agent.sendMessage(unpinMessage(RULE), quiet);
  await agent.prompt(filler(6_000));
  expect(sentText(run.turns.at(-1)!)).toMatch(/no longer applies:\s+Never push/);
  await agent.requestCompaction();
  await agent.prompt("go on");
  expect(sent(run)).toEqual([0, 0, 2, 0]);
});
