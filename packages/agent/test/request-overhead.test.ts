import { expect, test } from "vitest";
import { actor, done, echo, filler, scriptedAgent, tokens } from "./scripted-agent.ts";

const large = { ...actor, contextWindow: 100_000 };

test("before the first usage, system prompt and tools count by estimate; from then on, as usage says", async () => {
  const { agent } = scriptedAgent({
    model: large,
    systemPrompt: filler(3_000),
    tools: [echo],
    turn: [{ ...done, ...tokens(9_000) }],
  });
  const { tokens: before, isEstimate } = agent.state.context;
  expect(isEstimate).toBe(true);
  expect(before).toBeGreaterThan(3_000);
  expect(before).toBeLessThan(3_600);
  await agent.prompt("hello");
  expect(agent.state.context).toMatchObject({ isEstimate: false });
  expect(agent.state.context.tokens).toBeGreaterThanOrEqual(9_000);
  expect(agent.state.context.tokens).toBeLessThan(9_100);
});

test("tools that are not offered do not count", () => {
  const { agent } = scriptedAgent({ model: large, systemPrompt: filler(1_000), tools: [echo], turn: [done] });
  const { tokens: withTool } = agent.state.context;
  agent.tools.setActive([]);
  expect(agent.state.context.tokens).toBeLessThan(withTool);
  expect(agent.state.context.tokens).toBeGreaterThan(900);
});

test("a large system prompt calls for compaction before any usage is known", async () => {
  const history = scriptedAgent({ model: large, turn: [done] });
  for (const size of [4_000, 4_000])
    history.session.append({
      type: "message",
      message: { role: "user", content: filler(size), timestamp: 0 },
    });
  const { agent, session } = scriptedAgent({
    session: history.session,
    systemPrompt: filler(12_000),
    tools: [],
    turn: [done],
  });
  await agent.prompt("go on");
  expect(session.path().filter(({ type }) => type === "compaction")).toHaveLength(1);
});
