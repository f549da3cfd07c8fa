import { expect, test } from "vitest";
import { scriptedAgent } from "./scripted-agent.ts";

const hanging = () => new Promise<void>(() => {});

test("at rest, an abort leaves a handler that hangs behind at once, and the next is waited for again", async () => {
  const { agent, lifecycle } = scriptedAgent({ turn: [{ text: "Good." }] });
  const undo = lifecycle.on("thinking_level_select", hanging);
  const told = agent.setThinking("high");
  await agent.abort();
  await told;
  undo();
  const heard: string[] = [];
  lifecycle.on("thinking_level_select", async ({ level }) => {
    await Promise.resolve();
    heard.push(level);
  });
  await agent.setThinking("low");
  expect(heard).toEqual(["low"]);
  expect((await agent.prompt("Hello")).status).toBe("done");
});

test("a start waits for handlers until its signal is aborted", async () => {
  const { agent, lifecycle } = scriptedAgent({ turn: [{ text: "Good." }] });
  lifecycle.on("session_start", hanging);
  const stop = new AbortController();
  const started = agent.start("startup", { signal: stop.signal });
  stop.abort();
  await started;
  expect(agent.isBusy).toBe(false);
});
