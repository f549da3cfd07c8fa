import { expect, test } from "vitest";
import { annotatedSessions, type FactScore, scoreSession, sumScores } from "../bench/annotated.ts";
import { compactionSettings } from "../src/index.ts";

/** One language for each way of writing; `pnpm bench annotated` measures all sessions. */
const SESSIONS = ["de-security", "zh-dbmigrate", "ja-game"];

test("three digests of a small window keep the facts of three annotated sessions", async () => {
  const settings = compactionSettings({ keepRecentTokens: 4_000 });
  const scores: FactScore[] = [];
  for (const session of annotatedSessions(SESSIONS))
    scores.push(await scoreSession(session, settings, 32_000));
  const { old, oldShown, compactions, summaryTokens } = sumScores(scores);
  expect({ compactions, hasOld: old > 50 }).toEqual({ compactions: 9, hasOld: true });
  expect(oldShown / old).toBeGreaterThanOrEqual(0.98);
  expect(summaryTokens / compactions).toBeLessThanOrEqual(6_000);
});
