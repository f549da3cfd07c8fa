import { compactionPresets } from "@bonsai-agent/compaction";
import { expect, test } from "vitest";
import { policyNamed, searchSettings } from "../src/index.ts";
import { days } from "./reading-days.ts";

const baseline = policyNamed("bonsai");

test("if the saved text would be missed, no settings are better; an allowed loss is reported", async () => {
  const tuned = await searchSettings({ days: days(true), baseline, tried: 5 });
  expect(tuned.needed.tuned).toBeGreaterThanOrEqual(tuned.needed.baseline - 0.02);
  const lossy = await searchSettings({ days: days(true), baseline, tried: 5, loss: 1 });
  expect(lossy.needed.tuned).toBeLessThan(lossy.needed.baseline - 0.02);
  expect(lossy.savings[0]).toBeGreaterThan(tuned.isBetter ? tuned.savings[0]! : 0);
});

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
