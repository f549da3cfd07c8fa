import { inputTokens, type Usage } from "@bonsai-agent/messages";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Provider, ProviderCall } from "../src/provider.ts";
import { scriptedProvider } from "../src/scripted/scripted.ts";
import { callOf, long, model, perform, user } from "./scripted-calls.ts";

const prices = { input: 1, output: 1, cacheRead: 0.1, cacheWrite: 1.25 };

async function usageOf(provider: Provider, call: ProviderCall): Promise<Usage> {
  const { answer, error } = await perform(provider, call);
  if (error !== undefined) throw error;
  return answer.message.usage;
}

describe("usage", () => {
  const talk = () => scriptedProvider(() => ({ text: "fine" }));

  test("is all input where the prompt is too short to be kept", async () => {
    const provider = talk();
    await usageOf(provider, callOf());
    const usage = await usageOf(provider, callOf());
    expect(usage).toMatchObject({ cacheRead: 0, cacheWrite: 0 });
    expect(usage.input).toBeGreaterThan(0);
    expect(usage.output).toBeGreaterThan(0);
  });

  test("reads what the request before began with, and pays for the rest", async () => {
    const priced = { ...model, usdPerMillionTokens: prices };
    const provider = talk();
    const first = callOf({ model: priced, messages: [user(long(2_000))] });
    const written = await usageOf(provider, first);
    expect(written).toMatchObject({ input: 0, cacheRead: 0 });
    expect(written.cacheWrite).toBeGreaterThan(1_024);
    const next = { ...first, messages: [...first.messages, user("and now?")] };
    const read = await usageOf(provider, next);
    expect(read.cacheRead).toBe(written.cacheWrite);
    expect(read.cacheWrite).toBeGreaterThan(0);
    expect(read.cacheWrite).toBeLessThan(20);
    expect(read.cost.total).toBeLessThan(written.cost.total / 5);
  });

  test("counts the rest as input where writing has no price", async () => {
    const provider = talk();
    const first = callOf({ messages: [user(long(2_000))] });
    await usageOf(provider, first);
    const read = await usageOf(provider, { ...first, messages: [...first.messages, user("and now?")] });
    expect(read.cacheWrite).toBe(0);
    expect(read.input).toBeLessThan(20);
    expect(read.cacheRead).toBeGreaterThan(1_024);
  });

  test("finds a prefix again after a request of another kind", async () => {
    const provider = talk();
    const turn = callOf({ messages: [user(long(2_000))] });
    await usageOf(provider, turn);
    await usageOf(provider, callOf({ systemPrompt: "Summarise.", messages: [user("something else")] }));
    expect((await usageOf(provider, turn)).cacheRead).toBeGreaterThan(1_024);
  });

  test("reads nothing when the beginning has changed", async () => {
    const provider = talk();
    const turn = callOf({ messages: [user(long(2_000))] });
    await usageOf(provider, turn);
    expect((await usageOf(provider, { ...turn, systemPrompt: "Be long." })).cacheRead).toBe(0);
  });

  test("is what the scenario sets, where it sets any", async () => {
    const told = scriptedProvider({
      turn: [{ text: "x", usage: { input: 1_000, cacheRead: 7, output: 3 } }],
    });
    expect(await usageOf(told, callOf())).toMatchObject({
      input: 1_000,
      cacheRead: 7,
      cacheWrite: 0,
      output: 3,
      totalTokens: 1_010,
    });
    const output = scriptedProvider({ turn: [{ text: "x", usage: { output: 55 } }] });
    const usage = await usageOf(output, callOf());
    expect(usage.output).toBe(55);
    expect(usage.input).toBeGreaterThan(0);
  });

  test("the cache never changes how much was sent", async () => {
    const texts = fc.array(
      fc.nat(3).map((at) => long(400 * (at + 1)) + at),
      { minLength: 1, maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(texts, { minLength: 1, maxLength: 6 }), async (requests) => {
        const shared = talk();
        for (const request of requests) {
          const call = callOf({ messages: request.map(user) });
          const cached = await usageOf(shared, call);
          const fresh = await usageOf(talk(), call);
          expect(inputTokens(cached)).toBe(inputTokens(fresh));
          expect(fresh.cacheRead).toBe(0);
        }
      }),
    );
  });
});
