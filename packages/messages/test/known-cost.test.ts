import { CostSum, costText, emptyUsage, knownUsd, type Usage } from "@bonsai-agent/messages";
import { expect, test } from "vitest";

function used(input: number, total: number): Usage {
  return { ...emptyUsage(), input, totalTokens: input, cost: { ...emptyUsage().cost, total } };
}

const isFree = (model: string) => model === "local/free";

const SUMS: Array<[what: string, usages: Array<[Usage, string?]>, words: string, usd: number | null]> = [
  ["nothing", [], "$0", 0],
  ["requests that used nothing", [[emptyUsage(), "a/b"]], "$0", 0],
  [
    "requests that have a cost",
    [
      [used(10, 1), "a/b"],
      [used(5, 0.5), "a/c"],
    ],
    "$1.50",
    1.5,
  ],
  ["tokens without a cost", [[used(10, 0), "a/b"]], "unknown", null],
  ["tokens of nobody knows which model", [[used(10, 0)]], "unknown", null],
  [
    "a request with a cost and one without",
    [
      [used(10, 1), "a/b"],
      [used(10, 0), "a/b"],
    ],
    "at least $1.00",
    null,
  ],
  ["a free model", [[used(10, 0), "local/free"]], "free of charge", 0],
  [
    "a free model beside one with a cost",
    [
      [used(10, 0), "local/free"],
      [used(10, 0.02), "a/b"],
    ],
    "$0.0200",
    0.02,
  ],
  [
    "a free model beside one without a price",
    [
      [used(10, 0), "local/free"],
      [used(10, 0), "a/b"],
    ],
    "unknown",
    null,
  ],
  ["a cost that is no number", [[used(10, Number.NaN), "a/b"]], "unknown", null],
];

test("writes the cost that is known", () => {
  for (const [name, usages, words, usd] of SUMS) {
    const sum = new CostSum();
    for (const [usage, model] of usages) sum.add(usage, model);
    const whole = new CostSum();
    whole.addSum(sum);
    for (const each of [sum, whole]) {
      expect.soft(costText(each.cost(isFree)), name).toBe(words);
      expect.soft(knownUsd(each.cost(isFree)), name).toBe(usd);
    }
  }
});
