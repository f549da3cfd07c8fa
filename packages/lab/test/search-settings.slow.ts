import { compactionPresets } from "@bonsai-agent/compaction";
import { expect, test } from "vitest";
import { policyNamed, searchSettings } from "../src/index.ts";
import { days } from "./reading-days.ts";

const baseline = policyNamed("bonsai");

test("settings that lose needed text are better only if they still cost less", async () => {
  const tuned = await searchSettings({ days: days(true), baseline, tried: 5 });
  expect(tuned.isBetter).toBe(tuned.after.usd < tuned.before.usd);
});

test("settings that save money are found, and hold on other days", async () => {
  const shares: number[] = [];
  const onProgress = (share: number) => shares.push(share);
  const tuned = await searchSettings({ days: days(false), baseline, tried: 5, onProgress });
  expect(tuned).toMatchObject({ isBetter: true, trained: 1, tested: 1 });
  expect(Math.min(...tuned.after.savings)).toBeGreaterThan(0.1);
  expect(tuned.settings).not.toEqual({});
  expect(tuned.presets.map(({ name }) => name)).toEqual([...Object.keys(compactionPresets), "bonsai+auto"]);
  expect(tuned.presets.find(({ name }) => name === "bonsai")).toEqual({ ...tuned.before, name: "bonsai" });
  expect(shares).toEqual([...shares].sort((a, b) => a - b));
  expect(shares.at(-1)).toBe(1);
});
