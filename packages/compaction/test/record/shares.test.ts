import fc from "fast-check";
import { expect, test } from "vitest";
import { dividedTokens } from "../../src/record/shares.ts";

const part = fc.record({ need: fc.nat(5_000), share: fc.integer({ min: 1, max: 9 }) });
const parts = fc.record({ words: part, failures: part, answers: part });

test("law: no part gets more than it needs, the sum never exceeds the whole, and no tokens are left while a part needs more", () => {
  const law = fc.property(parts, fc.nat(10_000), (all, tokens) => {
    const given = dividedTokens(tokens, all);
    const sum = Object.values(given).reduce((total, each) => total + each, 0);
    expect(sum).toBeLessThanOrEqual(tokens);
    let isShort = false;
    for (const name of ["words", "failures", "answers"] as const) {
      expect(given[name]).toBeLessThanOrEqual(all[name].need);
      isShort ||= given[name] < all[name].need;
    }
    // Each part loses less than a token to rounding.
    if (isShort) expect(sum).toBeGreaterThan(tokens - 3);
  });
  fc.assert(law);
});

test("parts that all need more get their shares", () => {
  const needs = { a: { need: 900, share: 3 }, b: { need: 900, share: 1 } };
  expect(dividedTokens(400, needs)).toEqual({ a: 300, b: 100 });
});

test("a part that needs less leaves the rest to the others", () => {
  const needs = { a: { need: 50, share: 3 }, b: { need: 900, share: 1 } };
  expect(dividedTokens(400, needs)).toEqual({ a: 50, b: 350 });
});

test("a budget below zero gives nothing", () => {
  expect(dividedTokens(-5, { a: { need: 9, share: 1 } })).toEqual({ a: 0 });
});
