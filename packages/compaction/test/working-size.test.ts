import { usualCacheRules } from "@bonsai-agent/messages";
import { everyRow } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { type WorkingSizeOptions, workingSize } from "../src/plan/economy.ts";

const middling = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

const usual: WorkingSizeOptions = {
  prices: middling,
  cacheRules: usualCacheRules,
  thresholdTokens: 183_616,
  floorTokens: 36_000,
  fixedTokens: 5_000,
  baseTokens: 30_000,
  growthTokens: 1_000,
  pauses: 0.02,
  isModelAsked: true,
};

const size = (changed: Partial<WorkingSizeOptions> = {}) => workingSize({ ...usual, ...changed })!;

test("the working size of a window of 200k follows the model's prices and the session's growth", () =>
  everyRow([
    ["a middling model, a slow session", { growthTokens: 450, pauses: 0.01 }, 45_000, 55_000],
    ["a middling model, a usual session", {}, 55_000, 65_000],
    ["results are large", { growthTokens: 8_000 }, 100_000, 140_000],
    ["the cache is nearly free", { prices: { ...middling, cacheRead: 0.03 } }, 70_000, 120_000],
    ["there is no cache", { prices: { ...middling, cacheRead: 3, cacheWrite: 3 } }, 36_000, 45_000],
    ["pauses are many", { pauses: 0.3 }, 40_000, 50_000],
  ])(([, changed, least, most]) => {
    const { tokens } = size(changed);
    expect(tokens).toBeGreaterThanOrEqual(least);
    expect(tokens).toBeLessThanOrEqual(most);
  }));

test("a price of nothing for the cache, beside others, says that it has none of its own", () => {
  const without = size({ prices: { ...middling, cacheRead: 0, cacheWrite: 0 } });
  expect(without.tokens).toBe(size({ prices: { ...middling, cacheRead: 3, cacheWrite: 3 } }).tokens);
});

test("free models have no working size", () => {
  expect(
    workingSize({ ...usual, prices: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }),
  ).toBeUndefined();
});

test("a prefix too short to be kept is written anew with the rest, which makes compactions dearer", () => {
  const short = { fixedTokens: 900, baseTokens: 30_000 };
  const kept = size({ ...short, cacheRules: { ...usualCacheRules, minimumTokens: 512 } });
  expect(size(short).tokens).toBeGreaterThan(kept.tokens);
});

const price = fc.double({ min: 0.01, max: 50, noNaN: true });
const optionsArbitrary: fc.Arbitrary<WorkingSizeOptions> = fc
  .record({
    prices: fc.record({ input: price, output: price, cacheRead: price, cacheWrite: price }),
    cacheRules: fc.constant(usualCacheRules),
    thresholdTokens: fc.integer({ min: 0, max: 1_000_000 }),
    floorTokens: fc.integer({ min: 0, max: 200_000 }),
    fixedTokens: fc.integer({ min: 0, max: 50_000 }),
    keptTokens: fc.integer({ min: 0, max: 50_000 }),
    growthTokens: fc.double({ min: 0, max: 50_000, noNaN: true }),
    pauses: fc.double({ min: 0, max: 1, noNaN: true }),
    isModelAsked: fc.boolean(),
  })
  // No price list has a cache that costs more to read than to write.
  .filter(({ prices }) => prices.cacheRead <= prices.cacheWrite)
  .map(({ keptTokens, ...options }) => ({ ...options, baseTokens: options.fixedTokens + keptTokens }));

test("Invariant: neither size is above the threshold, and none is below the floor where that is not above the threshold", () => {
  fc.assert(
    fc.property(optionsArbitrary, (options) => {
      const { tokens, expiredTokens } = workingSize(options)!;
      const { thresholdTokens, floorTokens } = options;
      expect(tokens).toBeLessThanOrEqual(thresholdTokens);
      expect(expiredTokens).toBeLessThanOrEqual(tokens);
      expect(expiredTokens).toBeGreaterThanOrEqual(Math.min(floorTokens, thresholdTokens));
    }),
  );
});

/** A long session, request by request, as a bill would have it. */
function billed(limitTokens: number, options: WorkingSizeOptions): number {
  const { prices, pauses, growthTokens, baseTokens, fixedTokens, isModelAsked } = options;
  const { input, output, cacheRead, cacheWrite } = prices;
  let [usd, tokens, rest] = [0, baseTokens, 0];
  for (let request = 0; request < 20_000; request += 1) {
    // Pauses are evenly spread.
    rest += pauses;
    const isExpired = rest >= 1;
    if (isExpired) rest -= 1;
    const warm = (cached: number, written: number) =>
      isExpired ? (cached + written) * cacheWrite : cached * cacheRead + written * cacheWrite;
    if (tokens <= limitTokens) usd += warm(tokens, growthTokens);
    else {
      const span = tokens - baseTokens;
      const asText = input * (0.6 * span + 1_000);
      const onPrefix = cacheRead * tokens + cacheWrite * 1_000;
      usd += isModelAsked ? Math.min(asText, onPrefix) + output * 2_000 : 0;
      usd += warm(fixedTokens, baseTokens - fixedTokens + growthTokens);
      // Once more, for what has to be looked at again.
      usd += warm(baseTokens, growthTokens) + output * 300;
      tokens = baseTokens;
    }
    tokens += growthTokens;
  }
  return usd / 1e6;
}

const cases: ReadonlyArray<[string, Partial<WorkingSizeOptions>]> = [
  ["a usual session", {}],
  ["the digest summarises", { isModelAsked: false }],
  ["a slow growth and few pauses", { growthTokens: 300, pauses: 0.005 }],
  ["a fast growth", { growthTokens: 6_000 }],
  ["many pauses", { pauses: 0.2 }],
  ["a cache that is nearly free", { prices: { ...middling, cacheRead: 0.02 } }],
  ["a cache that is dear to read", { prices: { ...middling, cacheRead: 1.5 } }],
];

test("no other size is clearly cheaper, billed request by request", () =>
  everyRow(cases)(([, changed]) => {
    const options = { ...usual, floorTokens: 32_000, ...changed };
    const usd = billed(workingSize(options)!.tokens, options);
    for (let other = 34_000; other < options.thresholdTokens; other += 2_000)
      expect(usd).toBeLessThan(billed(other, options) * 1.04);
  }));

test("a day that was filled saves by the working size, and no day loses by it", () => {
  fc.assert(
    fc.property(optionsArbitrary, fc.integer({ min: 0, max: 2_000 }), (options, requests) => {
      const { thresholdTokens, floorTokens } = options;
      const { tokens, usdOver } = workingSize(options)!;
      // A floor above the cheapest size is not compared: the task needs it.
      fc.pre(tokens > floorTokens && thresholdTokens > floorTokens);
      const usd = usdOver(requests, tokens);
      expect(usd).toBeLessThanOrEqual(usdOver(requests, thresholdTokens) * 1.001 + 1e-9);
    }),
  );
});

test("a smaller size saves nothing on a day whose context stays below both sizes", () => {
  const { usdOver } = size();
  expect(usdOver(20, 60_000)).toBe(usdOver(20, 180_000));
  expect(usdOver(500, 60_000)).toBeLessThan(usdOver(500, 180_000));
});

test("a slower growth never makes the size larger", () => {
  fc.assert(
    fc.property(optionsArbitrary, fc.double({ min: 0.1, max: 1, noNaN: true }), (options, factor) => {
      const slower = { ...options, growthTokens: options.growthTokens * factor };
      expect(workingSize(slower)!.tokens).toBeLessThanOrEqual(workingSize(options)!.tokens + 1);
    }),
  );
});
