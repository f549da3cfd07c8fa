import type { ProviderCall } from "@bonsai-agent/models";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { done, type ScriptedAgentOptions, scriptedAgent } from "./scripted-agent.ts";
import { model } from "./warm-session.ts";

const MINUTE = 60_000;
const cached = { input: 10, cacheRead: 100_000, cacheWrite: 0, output: 5 };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] }));
afterEach(() => void vi.useRealTimers());

/** An agent after two runs, whose usage says that the provider has cached 100,000 tokens. */
async function idleAgent(keepWarm: object = {}, options: Partial<ScriptedAgentOptions> = {}) {
  const turn = () => ({ ...done, usage: cached });
  const settings = { cache: { keepWarm: { enabled: true, maxUsd: 10, ...keepWarm } } };
  const opened = scriptedAgent({ turn, extension: turn, model, settings, ...options });
  await opened.agent.prompt("Hello");
  await opened.agent.prompt("Go on");
  const pause = (minutes: number) => vi.advanceTimersByTimeAsync(minutes * MINUTE);
  return { ...opened, pause };
}

test("sends the same prefix before the cache expires, until the time limit", async () => {
  const { turns, others, pause, session, notices, agent } = await idleAgent({ maxMinutes: 12 });
  await pause(4);
  expect(others).toHaveLength(0);
  await pause(1);
  const prefix = ({ systemPrompt, tools, messages }: ProviderCall) =>
    JSON.stringify({ systemPrompt, tools, messages });
  expect(others.map(prefix)).toEqual([prefix(turns[1]!)]);
  expect(others[0]!.maxOutputTokens).toBe(1);
  await pause(60);
  expect(others).toHaveLength(2);
  const kinds = session.path().flatMap((entry) => (entry.type === "usage" ? [entry.kind] : []));
  expect(kinds).toEqual(["keep_warm", "keep_warm"]);
  expect(notices).toMatchObject([
    { code: "keep_warm_ended", message: expect.stringContaining("The limit is 12 minutes.") },
  ]);
  await agent.close();
});

test.each([
  ["it is off", { enabled: false }, {}],
  ["the limit of money is below one request", { maxUsd: 0.01 }, {}],
  ["the model has no prices", {}, { model: { ...model, usdPerMillionTokens: undefined } }],
  [
    "reading the cache costs as much as writing it",
    {},
    { model: { ...model, usdPerMillionTokens: { input: 3, output: 15, cacheRead: 3, cacheWrite: 3 } } },
  ],
])("sends nothing if %s", async (_title, keepWarm, options) => {
  const { others, pause, agent } = await idleAgent(keepWarm, options);
  await pause(60);
  expect(others).toEqual([]);
  await agent.close();
});

test("Invariant: the requests of a pause cost less than writing the prefix once", async () => {
  const { others, pause, agent, notices } = await idleAgent({ maxMinutes: 10_000 });
  await pause(600);
  const { cacheRead, cacheWrite, output } = model.usdPerMillionTokens!;
  const readUsd = 100_010 * cacheRead + 16 * output;
  const rewriteUsd = 100_010 * (cacheWrite - cacheRead);
  expect(others.length).toBeGreaterThan(5);
  expect(others.length * readUsd).toBeLessThan(rewriteUsd);
  expect((others.length + 1) * readUsd).toBeGreaterThanOrEqual(rewriteUsd);
  expect(notices.map(({ code }) => code)).toEqual(["keep_warm_ended"]);
  await agent.close();
});

test.each<[string, (opened: Awaited<ReturnType<typeof idleAgent>>) => unknown]>([
  ["the agent is closed", ({ agent }) => agent.close()],
  ["another model is chosen", ({ agent }) => agent.setModel({ ...model, id: "other" })],
  [
    "the context changes",
    ({ session }) => {
      const targetId = session.projection().items[0]!.entryId;
      session.append({ type: "context_edit", targetId, replacement: null });
    },
  ],
])("sends nothing after %s", async (_title, change) => {
  const opened = await idleAgent();
  await change(opened);
  await opened.pause(60);
  expect(opened.others).toEqual([]);
  await opened.agent.close();
});

test.each([
  ["found the cache empty", { ...done, usage: { ...cached, cacheRead: 0, cacheWrite: 100_000 } }, []],
  ["failed", { error: { status: 529, message: "Overloaded" } }, ["keep_warm_failed"]],
])("stops after a request that %s", async (_title, answer, codes) => {
  const { others, pause, notices, agent } = await idleAgent({}, { extension: () => answer });
  await pause(60);
  expect(others).toHaveLength(1);
  expect(notices.map(({ code }) => code)).toEqual(codes);
  await agent.close();
});
