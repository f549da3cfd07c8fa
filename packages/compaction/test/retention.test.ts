import { type PlantedLanguage, plantedSession } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { measureRetention, type Retention, type Share } from "../bench/retention.ts";

/** Seeds that nobody looks at while the digest is changed. */
const SEEDS = [101, 102];
const LANGUAGES: readonly PlantedLanguage[] = ["en", "de"];
const AFTER = [1, 8];
const KEEP_TOKENS = 20_000;

const LEAST_OVERALL = 0.55;
const LEAST_BEYOND_TAIL = 0.5;
const LEAST_CONSTRAINTS = 0.6;
/** The mean of a session, after eight compactions. */
const MOST_CONTRADICTIONS = 6;
const MOST_SUMMARY_TOKENS = 7_500;

test("what a working day's user and agent said is still seen after one and after eight compactions", async () => {
  const measured = await measureAll();
  for (const compactions of AFTER) {
    const after = measured.filter((one) => one.compactions === compactions);
    const label = `${compactions} compactions`;
    expect(mean(after.map((one) => one.all)), label).toBeGreaterThanOrEqual(LEAST_OVERALL);
    expect(mean(after.map((one) => one.beyondTail)), label).toBeGreaterThanOrEqual(LEAST_BEYOND_TAIL);
    const constraints = after.flatMap((one) => one.kinds.constraint ?? []);
    expect(mean(constraints), label).toBeGreaterThanOrEqual(LEAST_CONSTRAINTS);
    const contradictions = after.reduce((sum, one) => sum + one.contradictions, 0) / after.length;
    expect(contradictions, label).toBeLessThanOrEqual(MOST_CONTRADICTIONS);
    expect(Math.max(...after.map((one) => one.summaryTokens)), label).toBeLessThanOrEqual(
      MOST_SUMMARY_TOKENS,
    );
  }
});

async function measureAll(): Promise<Retention[]> {
  const measured: Retention[] = [];
  for (const language of LANGUAGES)
    for (const seed of SEEDS)
      measured.push(
        ...(await measureRetention({
          session: plantedSession({ seed, language }),
          contender: { name: "the digest", by: {} },
          after: AFTER,
          keepRecentTokens: KEEP_TOKENS,
        })),
      );
  return measured;
}

function mean(shares: readonly Share[]): number {
  const sum = (pick: (share: Share) => number): number =>
    shares.reduce((total, share) => total + pick(share), 0);
  return sum((share) => share.seen) / sum((share) => share.planted);
}
