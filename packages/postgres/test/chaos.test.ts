import { afterAll, beforeAll, expect, test } from "vitest";
import { runChaos } from "./chaos.ts";
import { type TestDatabase, testDatabase } from "./test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.stop());

test("workers that crash, pause and lose connections do every job once and lose nothing", async () => {
  const { recoveries, orphans, cuts, takeovers, acknowledged, ...counts } = await runChaos({
    ...{ database, sessions: 40, jobs: 55, leaseMs: 2_000, endMs: 45_000 },
  });
  expect(counts).toEqual({
    ...{ jobs: 55, done: 55, kills: 2, pauses: 1, restarts: 1 },
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
  for (const [name, count] of Object.entries({ orphans, cuts, takeovers, recoveries: recoveries.length }))
    expect(count, name).toBeGreaterThan(0);
  expect(acknowledged).toBeGreaterThanOrEqual(55);
}, 120_000);
