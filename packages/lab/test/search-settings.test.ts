import { compactionPresets } from "@bonsai-agent/compaction";
import { emptyUsage, type Message } from "@bonsai-agent/messages";
import { expect, test } from "vitest";
import { policyNamed, searchSettings } from "../src/index.ts";

const prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

/** Turns that read a large file each; `looksBack`: what an earlier one said is asked for again. */
function day(seed: number, { looksBack }: { looksBack: boolean }) {
  const usage = emptyUsage();
  const messages = Array.from({ length: 28 }, (_, turn): Message[] => {
    const at = turn * 60_000;
    const name = (of: number) => `src/module_${seed}_${of}.ts`;
    const call = { type: "toolCall", id: `c${turn}`, name: "read", arguments: { path: name(turn) } };
    const asked = looksBack && turn > 14 ? ` Compare it with value_${seed}_${turn - 14}_kept.` : "";
    const answer = { role: "assistant", api: "x", provider: "made", model: "m", usage, stopReason: "stop" };
    return [
      { role: "user", content: `Look at ${name(turn)}.${asked}`, timestamp: at },
      { ...answer, content: [call], timestamp: at + 1_000 },
      {
        ...{
          role: "toolResult",
          toolCallId: call.id,
          toolName: "read",
          isError: false,
          timestamp: at + 2_000,
        },
        content: [
          { type: "text", text: `const value_${seed}_${turn}_kept = 1;\n${"filler text ".repeat(1_000)}` },
        ],
      },
      { ...answer, content: [{ type: "text", text: "Read." }], timestamp: at + 3_000 },
    ] as Message[];
  }).flat();
  const recorded = { requests: 56, sentTokens: 0, usd: 0, uncounted: 0, compactions: 0 };
  const recording = { messages, model: undefined, fixedTokens: 2_000, countRatio: 1, recorded };
  return { recording, prices, windowTokens: 200_000 };
}

const days = (looksBack: boolean) => [1, 2].map((seed) => day(seed, { looksBack }));
const baseline = policyNamed("bonsai");

test("without lookups, settings that save money are found, and hold on other days", async () => {
  const tuned = await searchSettings({ days: days(false), baseline, tried: 5 });
  expect(tuned).toMatchObject({ isBetter: true, trained: 1, tested: 1 });
  expect(Math.min(...tuned.savings)).toBeGreaterThan(0.1);
  expect(tuned.needed.tuned).toBeGreaterThanOrEqual(tuned.needed.baseline - 0.02);
  expect(tuned.settings).not.toEqual({});
  expect(tuned.presets.map(({ name }) => name)).toEqual(Object.keys(compactionPresets));
  expect(tuned.presets.find(({ name }) => name === "bonsai")).toMatchObject({
    savings: [0],
    needed: tuned.needed.baseline,
  });
});

test("if the saved text would be missed, no settings are better; an allowed loss is reported", async () => {
  const tuned = await searchSettings({ days: days(true), baseline, tried: 5 });
  expect(tuned.needed.tuned).toBeGreaterThanOrEqual(tuned.needed.baseline - 0.02);
  const lossy = await searchSettings({ days: days(true), baseline, tried: 5, loss: 1 });
  expect(lossy.needed.tuned).toBeLessThan(lossy.needed.baseline - 0.02);
  expect(lossy.savings[0]).toBeGreaterThan(tuned.isBetter ? tuned.savings[0]! : 0);
});

test("one day cannot be trained on and tested", async () => {
  const [one] = days(false);
  await expect(searchSettings({ days: [one!, { ...one! }], baseline })).rejects.toMatchObject({
    code: "tune_needs_days",
  });
  await expect(searchSettings({ days: [one!], baseline })).rejects.toMatchObject({
    code: "tune_needs_days",
  });
});
