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
