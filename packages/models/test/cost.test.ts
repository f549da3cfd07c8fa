import { expect, test } from "vitest";
import { usageCost } from "../src/answer-builder.ts";

const prices = { input: 4, output: 20, cacheRead: 0.5, cacheWrite: 5 };
const none = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

test.each([
  ["nothing", {}, none],
  [
    "a million of each",
    { input: 1e6, output: 1e6, cacheRead: 1e6, cacheWrite: 1e6 },
    { input: 4, output: 20, cacheRead: 0.5, cacheWrite: 5 },
  ],
  [
    "half of what was written for an hour",
    { cacheWrite: 1e6, cacheWrite1h: 5e5 },
    { ...none, cacheWrite: 2.5 + 4 },
  ],
  ["more for an hour than was written", { cacheWrite: 1e6, cacheWrite1h: 9e6 }, { ...none, cacheWrite: 8 }],
])("the cost of %s", (_name, usage, parts) => {
  const total = parts.input + parts.output + parts.cacheRead + parts.cacheWrite;
  expect(usageCost({ ...none, ...usage }, prices)).toEqual({ ...parts, total });
});

test("without prices nothing costs", () => {
  expect(usageCost({ ...none, input: 1e6 }, undefined)).toEqual({ ...none, total: 0 });
});
