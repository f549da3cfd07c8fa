import { expect, test } from "vitest";
import {
  actor,
  calls,
  done,
  filledAgent,
  filler,
  overflow,
  type ScriptedAgentOptions,
  scriptedAgent,
  sentText,
  summary,
  tokens,
} from "./scripted-agent.ts";

const huge = { ...actor, contextWindow: 200_000 };

const filled = (options: ScriptedAgentOptions, turns = 2) => filledAgent(options, Array(turns).fill(4_000));

const compactions = ({ session }: ReturnType<typeof scriptedAgent>) =>
  session.path().filter(({ type }) => type === "compaction").length;

const priced = { ...huge, usdPerMillionTokens: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 } };

test.each([
  ["auto", "with prices", 1],
  [50_000, "without prices", 1],
  ["off", "with prices", 0],
  ["auto", "without prices", 0],
])(
  "with the economy %j, 69,000 tokens for a model of 200,000 %s make %i compactions",
  async (economy, known, made) => {
    const run = scriptedAgent({
      model: known === "with prices" ? priced : huge,
      settings: { compaction: { economy, background: false } },
      turn: () => done,
      summary: () => summary,
    });
    for (let turn = 0; turn < 46; turn++) await run.agent.prompt(filler(1_500));
    expect(compactions(run)).toBe(made);
  },
);

test.each([
  ["within five minutes", 4, 0],
  ["after five minutes", 6, 1],
])("the economy compacts a smaller context only once the cache has expired: %s", async (_, minutes, made) => {
  let restedMs = 0;
  const run = scriptedAgent({
    model: priced,
    settings: { compaction: { economy: "auto" } },
    turn: () => done,
    summary: () => summary,
    now: () => Date.now() + restedMs,
  });
  for (let turn = 0; turn < 34; turn++) await run.agent.prompt(filler(1_500));
  restedMs = minutes * 60_000;
  await run.agent.prompt("go on");
  expect(compactions(run)).toBe(made);
});

test.each([
  [4_000, 2_048, 1_952],
  [8_000, 2_048, 4_096],
  [30_000, 7_500, 10_500],
  [200_000, 16_384, 20_000],
])("15: preset klaude at a window of %i reserves %i and keeps %i", async (contextWindow, reserve, keep) => {
  const model = { ...actor, contextWindow, maxOutputTokens: 500 };
  const full = { ...done, ...tokens(contextWindow - reserve + 1) };
  const run = scriptedAgent({
    model,
    turn: (_call, count) => (count === 3 ? full : done),
    settings: { compaction: { preset: "klaude" } },
  });
  for (let turn = 0; turn < 4; turn++) await run.agent.prompt(filler(Math.floor(contextWindow / 5)));
  const entry = run.session.path().find((each) => each.type === "compaction");
  expect(entry?.details).toMatchObject({
    manifest: { reason: "threshold", settings: { reserveTokens: reserve, keepTokens: keep } },
  });
});

test.each([undefined, 0])(
  "16: with a window of %s there is no threshold, but an overflow compacts",
  async (contextWindow) => {
    const model = { ...actor, contextWindow };
    const run = await filled({ model, turn: [{ ...done, ...tokens(900_000) }, overflow, done] });
    expect((await run.agent.prompt("much")).status).toBe("done");
    expect(compactions(run)).toBe(0);
    expect((await run.agent.prompt("more")).status).toBe("done");
    expect(compactions(run)).toBe(1);
  },
);

test.each([
  ["goOn", "done", 0],
  ["wait", "paused", 0],
  ["continueMessage", "done", 1],
] as const)("after a compaction between tools, %s ends as %s", async (afterThreshold, status, messages) => {
  const run = await filled({
    turn: [calls({ tokens: 8_000 }), done],
    policy: { afterThreshold },
  });
  expect((await run.agent.prompt("go")).status).toBe(status);
  expect(compactions(run)).toBe(1);
  expect(run.session.path().filter(({ type }) => type === "custom_message")).toHaveLength(messages);
  if (status === "paused") expect((await run.agent.prompt("go on")).status).toBe("done");
  expect(run.turns).toHaveLength(4);
});

test("a compaction before a prompt or after the last answer lets nobody wait", async () => {
  const policy = { afterThreshold: "wait" } as const;
  const before = await filled({ turn: [done], policy });
  expect((await before.agent.prompt(filler(8_000))).status).toBe("done");
  const after = await filled({ turn: [{ ...done, ...tokens(16_000) }], policy }, 3);
  expect((await after.agent.prompt("go")).status).toBe("done");
  expect([compactions(before), compactions(after)]).toEqual([1, 1]);
});

test("a text that waits is not kept waiting by the setting wait", async () => {
  const run = await filled({
    turn: [calls({ tokens: 8_000 }), done],
    policy: { afterThreshold: "wait" },
  });
  const off = run.lifecycle.on("auto_compaction_start", () => {
    off();
    void run.agent.prompt("go on at once", { behavior: "followUp" });
  });
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(sentText(run.turns.at(-1)!)).toContain("go on at once");
});

test("compaction settings that change hold from the next look on, also where compaction was switched off", async () => {
  const run = await filled({ turn: [done], settings: { compaction: { enabled: false } } }, 4);
  expect(compactions(run)).toBe(0);
  expect(run.agent.settings.compaction.enabled).toBe(false);
  run.agent.setCompactionSettings({ ...run.agent.settings.compaction, enabled: true });
  expect((await run.agent.prompt("go on")).status).toBe("done");
  expect(compactions(run)).toBe(1);
});
