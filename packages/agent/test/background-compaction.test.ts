import { setImmediate as soon } from "node:timers/promises";
import { expect, test } from "vitest";
import { stage, told } from "./extension-stage.ts";

async function working(settings: { background?: boolean } = {}) {
  const run = await stage({ sizes: [7_000, 6_000], settings: { compaction: settings } });
  const events = told(run, "background_compaction");
  return { ...run, states: () => events.map(({ state }) => state) };
}

test("a run continues during a background summary, and the next check of the threshold writes the summary", async () => {
  const { agent, session, states } = await working();
  await agent.prompt("And now?");
  await soon();
  expect(states()).not.toContain("committed");
  await agent.prompt("Go on.");
  expect(states()).toEqual(["ready", "committed"]);
  const [summary, ...kept] = session.projection().items;
  expect(summary?.message.role).toBe("compactionSummary");
  expect(JSON.stringify(kept.map(({ message }) => message))).toContain("And now?");
});

test("starts no background summary when the setting is off", async () => {
  const { agent, states } = await working({ background: false });
  await agent.prompt("And now?");
  await soon();
  expect(states()).toEqual([]);
});

test("closing the session discards the background summary", async () => {
  const { agent, bytes, states } = await working();
  await agent.prompt("And now?");
  await agent.close();
  expect(states().at(-1)).toBe("discarded");
  expect(bytes()).not.toContain('"type":"compaction"');
});
