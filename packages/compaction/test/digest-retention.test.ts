import { type PlantedLanguage, plantedLanguages } from "@bonsai-agent/testkit";
import { describe, expect, it } from "vitest";
import { measureRetention, type Retention } from "../bench/measure-retention.ts";

const AFTER = [1, 2, 4, 8];
/** Seeds that the digest was never tuned on. */
const SEEDS = [101, 102];
const LEAST_SHARE = 0.8;
const MOST_TOKENS = 4_000;

describe.each(plantedLanguages)("a planted session in %s", (language: PlantedLanguage) => {
  it("keeps at least 80% after 1, 2, 4 and 8 compactions, and shows nothing that is over", async () => {
    for (const seed of SEEDS)
      for (const measured of await measureRetention({ language, seed, after: AFTER })) {
        expect(share(measured), `seed ${seed}, ${measured.compactions} compactions`).toBeGreaterThanOrEqual(
          LEAST_SHARE,
        );
        expect(measured.proseTokens).toBeLessThanOrEqual(MOST_TOKENS);
        expect(measured.fallen, `seed ${seed}, ${measured.compactions} compactions`).toEqual([]);
        expect(measured.latestRequestKept).toBe(true);
      }
  });

  it("keeps at least 80% of what is said in wordings that it was not tuned on", async () => {
    const measured: Retention[] = [];
    for (const seed of SEEDS)
      measured.push(...(await measureRetention({ language, seed, heldOut: true, after: AFTER })));
    for (const compactions of AFTER) {
      const both = measured.filter((one) => one.compactions === compactions);
      const seen = both.reduce((sum, one) => sum + one.seenWeight, 0);
      const planted = both.reduce((sum, one) => sum + one.plantedWeight, 0);
      expect(seen / planted, `${compactions} compactions`).toBeGreaterThanOrEqual(LEAST_SHARE);
      expect(both.flatMap((one) => one.fallen).filter((trap) => trap.kind === "mended")).toEqual([]);
    }
  });
});

const share = (measured: Retention): number => measured.seenWeight / measured.plantedWeight;
