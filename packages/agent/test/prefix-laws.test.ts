import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { redoLatestUndo } from "@bonsai-agent/compaction";
import { MASK_PLACEHOLDER } from "@bonsai-agent/session/host";
import { fewRuns, PrefixCache } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { agentSettings } from "../src/settings.ts";
import { agent, cwd, eachInProject, opened } from "./opened-agent.ts";
import { actor, echo, filler, summary } from "./scripted-agent.ts";

eachInProject();

/** The user's steps of a day. A request follows each. */
const steps = {
  talk: async () => {},
  work: async () => {},
  compact: () => agent.compact({ useDigest: true, firstKeptEntryId: agent.session.leafId! }),
  undo: async () => {
    const { compaction } = agent.session.projection();
    if (compaction !== undefined) agent.session.undoCompaction(compaction.id);
  },
  redo: () => redoLatestUndo({ session: agent.session, contextSize }).catch(() => {}),
  edit: async (at: number) => writeFileSync(join(cwd, "AGENTS.md"), `Version ${at}.`),
  remove: async () => rmSync(join(cwd, "AGENTS.md"), { force: true }),
  switchModel: () => agent.setModel(agent.model.id === "actor" ? other : actor),
  goBack: (at: number) => {
    const { items } = agent.session.projection();
    const item = items[at % Math.max(1, items.length)];
    return item === undefined ? Promise.resolve() : agent.navigate(item.entryId);
  },
  mask: async () => {
    const { items } = agent.session.projection();
    const result = items.find(({ message, edit }) => message.role === "toolResult" && edit === undefined);
    if (result === undefined) return;
    const replacement = { content: MASK_PLACEHOLDER };
    agent.session.append({ type: "context_edit", targetId: result.entryId, replacement });
  },
} satisfies Record<string, (at: number) => Promise<unknown>>;

const names = Object.keys(steps) as (keyof typeof steps)[];
const other = { ...actor, id: "other", contextWindow: 30_000 };
const contextSize = () => ({ tokens: 0, estimatedTokens: 0 });

/** In the JSON of a request. */
const BEFORE_INSTRUCTIONS = String.raw`\n\n# Instructions of the user`;

/** The model works in every second answer, so that thresholds are crossed between tools. */
async function spendDay(
  day: readonly (keyof typeof steps)[],
  cache: PrefixCache,
): Promise<{ requests: number; compactions: number }> {
  writeFileSync(join(cwd, "AGENTS.md"), "Water the trees.");
  const asked = await opened(
    ({ purpose, messages }, count) => {
      if (purpose !== "turn") return summary;
      const isWork = count % 3 === 0 && messages.at(-1)?.role !== "toolResult";
      return isWork ? { calls: [{ name: "echo", arguments: { tokens: 2_000 } }] } : { text: "ok" };
    },
    { tools: [echo], settings: agentSettings({ titles: false }) },
  );
  for (const [at, step] of day.entries()) {
    await steps[step](at);
    await agent.prompt(step === "talk" ? filler(3_000) : "Go on.");
  }
  const turns = asked.filter(({ purpose }) => purpose === "turn");
  for (const call of turns) cache.send(call, BEFORE_INSTRUCTIONS);
  await agent.close();
  const summaries = turns.flatMap(({ messages: [first] }) =>
    first?.role === "compactionSummary" ? [first.summary] : [],
  );
  return { requests: turns.length, compactions: new Set(summaries).size };
}

test("Invariant: between two compactions, the system prompt keeps its bytes, unless an extension changes it.", async () => {
  let total = 0;
  const day = fc.array(fc.constantFrom(...names), { minLength: 8, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(day, async (day) => {
      const cache = new PrefixCache();
      const { requests, compactions } = await spendDay(day, cache);
      expect(requests).toBeGreaterThanOrEqual(day.length);
      expect(cache.rewrittenBytes).toBe(0);
      total += compactions;
    }),
    fewRuns(5),
  );
  expect(total).toBeGreaterThan(3);
});

test("the cache of the law notices a system prompt that changes between two compactions", () => {
  const cache = new PrefixCache();
  const call = { model: actor, tools: [], messages: [{ role: "user", content: "Hi", timestamp: 1 }] };
  for (const systemPrompt of ["One. Two.", "One. Three."])
    cache.send({ ...call, systemPrompt } as never, "Two");
  expect(cache).toMatchObject({ rewrittenBytes: 7, breaks: 1 });
});
