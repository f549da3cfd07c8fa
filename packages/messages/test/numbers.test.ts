import {
  bytes,
  count,
  counted,
  duration,
  moment,
  percent,
  shortTokens,
  tokensText,
  usdText,
} from "@bonsai-agent/messages/numbers";
import fc from "fast-check";
import { expect, test } from "vitest";

const durations = [
  [0, "0 s"],
  [340, "0.3 s"],
  [1_400, "1.4 s"],
  [9_960, "10 s"],
  [59_400, "59 s"],
  [59_600, "1 min"],
  [130_000, "2 min 10 s"],
  [3_599_600, "1 h"],
  [7_500_000, "2 h 5 min"],
  [86_400_000, "1 day"],
  [273_600_000, "3 days 4 h"],
  [Number.NaN, "?"],
] as const;
test("writes durations", () => {
  expect(durations.map(([ms]) => [ms, duration(ms)])).toEqual(durations);
});

const local = (text: string) => new Date(text).getTime();

const moments = [
  ["2026-11-26T14:02:30", "14:02"],
  ["2026-11-25T23:59", "25 Nov, 23:59"],
  ["2026-01-03T00:00", "3 Jan, 00:00"],
  ["2025-11-24T14:02", "24 Nov 2025, 14:02"],
  ["?", "?"],
] as const;
test("writes moments", () => {
  expect(moments.map(([time]) => [time, moment(local(time), local("2026-11-26T20:00"))])).toEqual(moments);
});

const sizes = [
  [0, "0 bytes"],
  [1, "1 byte"],
  [999, "999 bytes"],
  [1_000, "1 kB"],
  [4_600, "4.6 kB"],
  [5_000, "5 kB"],
  [974_400, "974 kB"],
  [999_600, "1 MB"],
  [12_345_678, "12.3 MB"],
] as const;
test("writes numbers of bytes", () => {
  expect(sizes.map(([value]) => [value, bytes(value)])).toEqual(sizes);
});

test("writes counts, shares, tokens and costs", () => {
  expect([count(1234567.4), count(Number.NaN)]).toEqual(["1,234,567", "?"]);
  expect([counted(1, "entry", "entries"), counted(1018, "entry", "entries")]).toEqual([
    "1 entry",
    "1,018 entries",
  ]);
  expect([percent(0, 9), percent(1, 900), percent(1, 3), percent(899, 900), percent(2, 2)]).toEqual(
    "0% <1% 33% >99% 100%".split(" "),
  );
  expect([4_636, 189_400, 1_200_000, null].map(shortTokens)).toEqual(["4.6k", "189k", "1.2M", "?"]);
  expect([tokensText(4636, false), tokensText(1, true)]).toEqual(["4,636 tokens", "~1 token"]);
  expect([0, 0.0123, 0.5, 1234.5].map(usdText)).toEqual(["$0", "$0.0123", "$0.50", "$1,234.50"]);
});

test("a longer duration never reads as a shorter one", () => {
  const unit = { s: 1, min: 60, h: 3_600, day: 86_400, days: 86_400 };
  const seconds = (text: string) =>
    [...text.matchAll(/([\d.,]+) (s|min|h|days?)\b/g)].reduce(
      (sum, [, value, name]) => sum + Number(value!.replaceAll(",", "")) * unit[name as keyof typeof unit],
      0,
    );
  fc.assert(
    fc.property(fc.nat(4e8), fc.nat(1e8), (ms, more) => {
      expect(seconds(duration(ms))).toBeLessThanOrEqual(seconds(duration(ms + more)));
    }),
  );
});
