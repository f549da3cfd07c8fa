import { afterAll, beforeAll, expect, test } from "vitest";
import { runChaos } from "./chaos.ts";
import { type TestDatabase, testDatabase } from "./test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.stop());

test("workers that crash, pause and lose connections do every job once and lose nothing", async () => {
  const { recoveries, ...counts } = await runChaos({
    ...{ database, sessions: 40, jobs: 55, leaseMs: 2_000, endMs: 45_000 },
  });
  expect(counts).toEqual({
    ...{ jobs: 55, done: 55, kills: 2, pauses: 1, restarts: 1 },
    ...{ cuts: expect.any(Number), orphans: expect.any(Number), acknowledged: expect.any(Number) },
    ...{
      lost: 0,
      lateWrites: 0,
      doubleHosts: 0,
      repeatedCalls: 0,
      wrongPrompts: 0,
      damages: 0,
      failedExits: 0,
    },
  });
  expect(counts.cuts).toBeGreaterThan(0);
  expect(counts.acknowledged).toBeGreaterThanOrEqual(55);
  expect(recoveries.length).toBeGreaterThan(0);
}, 120_000);
