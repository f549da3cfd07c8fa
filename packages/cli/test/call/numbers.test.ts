import { expect, test } from "vitest";
import { age, elapsed } from "../../src/views/numbers.ts";

test("writes a running clock in whole seconds", () => {
  expect([1_900, 65_999, -5].map(elapsed)).toEqual(["1 s", "1 min 5 s", "0 s"]);
});

test("writes the time since a moment in its largest unit", () => {
  expect([age(0, 59_000), age(0, 7_200_000)]).toEqual(["just now", "2 hours ago"]);
  expect(age(Number.NaN, 0)).toBe("?");
});
