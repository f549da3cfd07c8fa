import { estimateTokens } from "@bonsai-agent/messages";
import type { ProviderCall } from "@bonsai-agent/models";
import { hideableMessages } from "@bonsai-agent/session/host";
import { PrefixCache } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { budgetLine } from "../src/prompt/budget-line.ts";
import { agentSettings } from "../src/settings.ts";
import { agent, eachInProject, opened } from "./opened-agent.ts";
import { echo, filler, summary } from "./scripted-agent.ts";

eachInProject();

/** The budget lines of a request. */
const linesIn = ({ messages }: ProviderCall) =>
  messages.flatMap((message) =>
    message.role === "custom" && message.customType === "bonsai.budget" ? [String(message.content)] : [],
  );

const settings = (compaction: object = {}) =>
  agentSettings({ titles: false, compaction: { background: false, ...compaction } });

const asks = (args: object) => ({ calls: [{ name: "context", arguments: { ...args } }] });

/** Text of the latest result. */
function resultIn({ messages }: ProviderCall): string {
  const result = messages.findLast(({ role }) => role === "toolResult");
  return JSON.stringify(result);
}

test("one line at 50, 75 and 90 percent follows the messages, and a compaction removes them", async () => {
  const asked = await opened(({ purpose }) => (purpose === "turn" ? { text: filler(500) } : summary), {
    settings: settings({ keepRecentTokens: 1_000 }),
  });
  for (let at = 0; at < 30 && agent.session.projection().compaction === undefined; at += 1)
    await agent.prompt(filler(500));
  expect(agent.session.projection().compaction).toBeDefined();
  await agent.prompt("Go on.");
  const lines = asked.filter(({ purpose }) => purpose === "turn").map(linesIn);
  expect(lines.find(({ length }) => length === 3)?.map((line) => Number(/\d+/.exec(line)?.[0]))).toEqual([
    expect.closeTo(53, -1),
    expect.closeTo(78, -1),
    expect.closeTo(93, -1),
  ]);
  expect(lines.at(-1)).toEqual([]);
  expect(hideableMessages(agent.session).filter(({ isHidden }) => isHidden)).toEqual([]);
  const summaries = asked.filter(({ purpose }) => purpose === "summary");
  expect(JSON.stringify(summaries.map(({ messages }) => messages))).not.toContain("[Context:");
});

test("a line has at most 60 tokens, and compaction.showBudget: false turns lines off", async () => {
  const budget = { tokens: 1_888_888, limitTokens: 1_999_999 };
  expect(estimateTokens(budgetLine(budget, true))).toBeLessThanOrEqual(60);
  const asked = await opened(() => ({ text: "ok" }), { settings: settings({ showBudget: false }) });
  await agent.prompt(filler(10_000));
  expect(linesIn(asked[0]!)).toEqual([]);
});

test("the tool context shows the budget and asks for a compaction with a focus", async () => {
  const plays = [
    { text: filler(8_000) },
    asks({}),
    asks({ compact: true, focus: "the roses" }),
    { text: "done" },
  ];
  let turn = 0;
  const asked = await opened(({ purpose }) => (purpose === "turn" ? plays[turn++]! : summary), {
    settings: settings({ keepRecentTokens: 100 }),
  });
  await agent.prompt("Grow.");
  await agent.prompt("Look.");
  const turns = asked.filter(({ purpose }) => purpose === "turn");
  expect(resultIn(turns[2]!)).toMatch(/About [\d,]+ of 15,000 tokens are used \(\d\d%\)/);
  expect(resultIn(turns[3]!)).toContain("The compaction runs before your next request.");
  expect(turns[3]!.messages[0]!.role).toBe("compactionSummary");
  const [asking] = asked.filter(({ purpose }) => purpose === "summary");
  expect(JSON.stringify(asking!.messages)).toContain("the roses");
});

test.each([
  ["too early", {}, 10, "It is too early: you can ask from 50% on."],
  ["forbidden by the user", { allowRequests: false }, 10_000, "compaction.allowRequests"],
  ["without automatic compaction", { enabled: false }, 10_000, "Automatic compaction is off"],
])("the tool context refuses a request for a compaction: %s", async (_name, compaction, size, text) => {
  const plays = [asks({ compact: true }), { text: "done" }];
  const asked = await opened((_call, count) => plays[count - 1]!, { settings: settings(compaction) });
  await agent.prompt(filler(size));
  expect(resultIn(asked[1]!)).toContain(text);
  expect(resultIn(asked[1]!)).toContain('"isError":true');
  expect(agent.session.projection().compaction).toBeUndefined();
});

test("no prefix breaks in 1,000 turns but at compactions, which move the beginning of the messages", async () => {
  const cache = new PrefixCache();
  const compactions = new Set<string>();
  let lines = 0;
  await opened(
    (call, count) => {
      if (call.purpose !== "turn") return summary;
      cache.send(call);
      lines = Math.max(lines, linesIn(call).length);
      const [first] = call.messages;
      if (first?.role === "compactionSummary") compactions.add(JSON.stringify(first));
      return count % 4 === 0 ? { text: "ok" } : { calls: [{ name: "echo", arguments: { tokens: 200 } }] };
    },
    { tools: [echo], settings: settings({ mask: { enabled: false }, keepRecentTokens: 1_000 }) },
  );
  // `pnpm laws` runs all of them.
  const turns = process.env.LAW_RUNS ? 1_000 : 120;
  for (let turn = 0; turn < turns; turn += 4) await agent.prompt("Go on.");
  expect(lines).toBe(3);
  expect(compactions.size).toBeGreaterThan(0);
  expect(cache).toMatchObject({ rewrittenBytes: 0, breaks: compactions.size });
}, 120_000);
