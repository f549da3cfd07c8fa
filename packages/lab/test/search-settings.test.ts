import { expect, test } from "vitest";
import { policyNamed, searchSettings } from "../src/index.ts";
import { days } from "./reading-days.ts";

const baseline = policyNamed("bonsai");

test("one day cannot be trained on and tested", async () => {
  const [one] = days(false);
  await expect(searchSettings({ days: [one!, { ...one! }], baseline })).rejects.toMatchObject({
    code: "tune_needs_days",
  });
  await expect(searchSettings({ days: [one!], baseline })).rejects.toMatchObject({
    code: "tune_needs_days",
  });
});
