import { setImmediate as soon } from "node:timers/promises";
import { expect, test } from "vitest";
import { stage } from "./extension-stage.ts";

const close = { sizes: [7_000, 6_000] };

test("a run goes on while a summary is made, which the next look writes", async () => {
  const run = await stage(close);
  await run.agent.prompt("And now?");
  await soon();
  expect(run.agent.background.isUnderway).toBe(true);
  await run.agent.prompt("Go on.");
  expect(run.agent.background).toMatchObject({ isUnderway: false, committed: 1, discarded: 0 });
  const [summary, ...kept] = run.session.projection().items;
  expect(summary?.message.role).toBe("compactionSummary");
  expect(JSON.stringify(kept.map(({ message }) => message))).toContain("And now?");
});

test("starts no background summary when the setting is off", async () => {
  const run = await stage({ ...close, settings: { compaction: { background: false } } });
  await run.agent.prompt("And now?");
  await soon();
  expect(run.agent.background).toMatchObject({ isUnderway: false, committed: 0 });
});

test("closing the session leaves nothing of it in the file", async () => {
  const run = await stage(close);
  await run.agent.close();
  expect(run.agent.background.isUnderway).toBe(false);
  expect(run.bytes()).not.toContain('"type":"compaction"');
});
