import { type PlantedLanguage, plantedSession } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { DIGEST, meanShare, measureRetention, type Retention, retentionOf } from "../bench/retention.ts";
import { compactionSettings } from "../src/index.ts";

/** A seed that nobody looks at while the digest is changed. */
const SEED = 101;
const LANGUAGES: readonly PlantedLanguage[] = ["de", "zh", "ar"];
const AFTER = [1, 8];
const KEEP_TOKENS = 20_000;

const MIN_OVERALL = 0.9;
const MIN_BEYOND_TAIL = 0.88;
const MIN_CONSTRAINTS = 0.98;
/** The mean of a session, after eight compactions. */
const MAX_CONTRADICTIONS = 0.5;
const MAX_SUMMARY_TOKENS = 7_500;

test("words of user and agent in a working day are still seen after one and after eight compactions", async () => {
  const measured = await measureAll();
  for (const compactions of AFTER) {
    const after = measured.filter((one) => one.compactions === compactions);
    const label = `${compactions} compactions`;
    expect(meanShare(after.map((one) => one.all)), label).toBeGreaterThanOrEqual(MIN_OVERALL);
    expect(meanShare(after.map((one) => one.beyondTail)), label).toBeGreaterThanOrEqual(MIN_BEYOND_TAIL);
    const constraints = after.flatMap((one) => one.kinds.constraint ?? []);
    expect(meanShare(constraints), label).toBeGreaterThanOrEqual(MIN_CONSTRAINTS);
    const contradictions = after.reduce((sum, one) => sum + one.contradictions.length, 0) / after.length;
    expect(contradictions, label).toBeLessThanOrEqual(MAX_CONTRADICTIONS);
    expect(Math.max(...after.map((one) => one.summaryTokens)), label).toBeLessThanOrEqual(MAX_SUMMARY_TOKENS);
  }
});

test.each<[string, string, boolean]>([
  ["nothing of it", "the report is done", false],
  ["what it was", "the gateway is on 3001", true],
  ["what it was and then what it is", "the gateway is on 3001\ntake 3002", false],
  ["what it is and then what it was", "take 3002\nthe gateway is on 3001", true],
  ["what it was again behind what it is", "the gateway is on 3001\ntake 3002\nthe gateway is on 3001", true],
  ["only what it is", "take 3002", false],
  ["other marks and spaces", "**The gateway\n  is on `3001`**", true],
  ["a tick that ends where it does", "- [ ] the gateway is on 3001\n- [x] the gateway is on 3001", false],
])(
  "a context with %s: a contradiction where nothing behind it says that it has ended",
  (_, summary, expected) => {
    const mends = ["take 3002", "[x] the gateway is on 3001"];
    const ended = { how: "changed" as const, at: 1, mends };
    const plant = { kind: "decision" as const, weight: 2, key: "the gateway is on 3001", at: 0, ended };
    const found = (messageCount: number, tail = "") =>
      retentionOf([plant], { summary, tail }, { compactions: 1, messageCount }).contradictions.length;
    expect(found(2)).toBe(expected ? 1 : 0);
    expect(found(2, "take 3002")).toBe(0);
    expect(found(1)).toBe(0);
  },
);

async function measureAll(): Promise<Retention[]> {
  const settings = compactionSettings({ keepRecentTokens: KEEP_TOKENS });
  const measured: Retention[] = [];
  for (const language of LANGUAGES) {
    const planted = plantedSession({ seed: SEED, language });
    const retentions = await measureRetention(planted, { settings, after: AFTER });
    measured.push(...retentions.get(DIGEST)!);
  }
  return measured;
}
