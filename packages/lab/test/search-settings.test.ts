import { compactionPresets } from "@bonsai-agent/compaction";
import { expect, test } from "vitest";
import { policyNamed, searchSettings } from "../src/index.ts";
import { days } from "./reading-days.ts";

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

test("one day cannot be trained on and tested", async () => {
  const [one] = days(false);
  await expect(searchSettings({ days: [one!, { ...one! }], baseline })).rejects.toMatchObject({
    code: "tune_needs_days",
  });
  await expect(searchSettings({ days: [one!], baseline })).rejects.toMatchObject({
    code: "tune_needs_days",
  });
});
