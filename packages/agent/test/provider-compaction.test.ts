import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type CompactionEntry, createSession, storedProviderSummary } from "@bonsai-agent/session";
import type { LoopbackRequest } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { filler, testFolder } from "./scripted-agent.ts";
import { firstSent, type ServedAgent, servedAgent } from "./served-agent.ts";

function compactionsOf({ session }: Pick<ServedAgent, "session">): CompactionEntry[] {
  return session.path().filter((entry) => entry.type === "compaction") as CompactionEntry[];
}

function latestOf(run: Pick<ServedAgent, "session">): CompactionEntry {
  return compactionsOf(run).at(-1)!;
}

/** Two turns with long answers, so that a compaction is worth it. */
async function work({ say }: ServedAgent): Promise<void> {
  await say("Explain the price of 4,711.");
  await say("Explain it again.");
}

test("a session runs on Anthropic, OpenAI, a local model and Anthropic again, with a compaction on each", async () => {
  const file = join(testFolder(), "session.jsonl");
  const run = await servedAgent({ session: createSession({ cwd: "/project", file }) });
  const { agent, server, models, say } = run;
  const sent: unknown[] = [];
  for (const name of ["claude", "gpt", "local", "claude"] as const) {
    await agent.setModel(models[name]);
    await work(run);
    expect((await agent.compact()).status).toBe("compacted");
    await say(`After the compaction on ${name}.`);
    const { json, hasBlock } = firstSent(server);
    const entry = latestOf(run);
    const { items = [], isSealed = false } = storedProviderSummary(entry) ?? {};
    for (const item of items) expect(json).toContain(JSON.stringify(item));
    expect(json).toContain("Kept word for word");
    expect(json).toContain("4,711");
    const isProseSent = json.includes(JSON.stringify(entry.summary).slice(400, 500));
    sent.push([name, hasBlock ? "block" : "readable", isSealed, isProseSent]);
  }
  expect(sent).toEqual([
    ["claude", "block", false, false],
    ["gpt", "block", true, false],
    ["local", "readable", false, true],
    ["claude", "block", false, false],
  ]);
  await agent.close();
  // Programs that know only the format, such as pi, read these fields of a compaction.
  const lines = readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const before = (id: string) =>
    lines.slice(
      0,
      lines.findIndex((line) => line.id === id),
    );
  const compactions = lines.filter(({ type }) => type === "compaction");
  expect(compactions).toHaveLength(4);
  for (const { id, summary, firstKeptEntryId } of compactions) {
    expect(summary).toContain("4,711");
    expect(summary).not.toMatch(/encrypted|signature/);
    expect(before(id).some((line) => line.id === firstKeptEntryId)).toBe(true);
  }
});

test("a summary of one short message still carries the user's words", async () => {
  const run = await servedAgent();
  await run.say("Explain the price of 4,711.");
  await run.agent.compact();
  await run.say("And now?");
  const { json, hasBlock } = firstSent(run.server);
  expect(hasBlock).toBe(true);
  expect(json).toContain("Explain the price of 4,711.");
});

test("another model gets the readable summary, and the first one its block again", async () => {
  const run = await servedAgent();
  const { agent, server, models, say } = run;
  await work(run);
  await agent.compact();
  const sent: boolean[] = [];
  for (const name of ["claude", "otherClaude", "gpt", "local", "claude"] as const) {
    await agent.setModel(models[name]);
    await say("And now?");
    sent.push(firstSent(server).hasBlock);
  }
  expect(sent).toEqual([true, false, false, false, true]);
});

test("a sealed summary has a digest for all other readers", async () => {
  const run = await servedAgent();
  await run.agent.setModel(run.models.gpt);
  await work(run);
  await run.agent.compact();
  const { summary, details } = latestOf(run);
  expect(summary).toContain("Explain the price of 4,711.");
  expect(summary).not.toContain("provider summary 1");
  expect(details).toMatchObject({ manifest: { rung: "provider" }, provider: { isSealed: true } });
});

test("sends a compaction with the prefix of the turns: system prompt, tools and messages", async () => {
  const run = await servedAgent();
  await work(run);
  await run.agent.compact();
  const [turn, compaction] = [run.server.requests[1]!, run.server.requests[2]!].map(
    ({ body }) => body as Record<string, unknown>,
  );
  expect(compaction!.compaction).toEqual({ type: "summarize" });
  for (const field of ["system", "tools"])
    expect(JSON.stringify(compaction![field])).toBe(JSON.stringify(turn![field]));
  const plain = (messages: unknown) => JSON.stringify(messages).replaceAll(/,"cache_control":\{[^}]*\}/g, "");
  const sent = plain(compaction!.messages).slice(0, -1);
  expect(plain(turn!.messages).startsWith(sent)).toBe(true);
});

test("a focus becomes the instructions of Anthropic, and is no use to OpenAI", async () => {
  const run = await servedAgent();
  await work(run);
  await run.agent.compact({ focus: "prices" });
  expect(run.server.requests[2]!.body).toMatchObject({
    compaction: { instructions: expect.stringContaining("<focus>\nprices\n</focus>") },
  });
  await run.agent.setModel(run.models.gpt);
  await work(run);
  const { caveat } = await run.agent.compact({ focus: "prices" });
  expect(caveat).toContain("takes no focus");
  expect(storedProviderSummary(latestOf(run))).toBeUndefined();
});

test("counts the compaction's usage and cost", async () => {
  const run = await servedAgent();
  await work(run);
  await run.agent.compact();
  const [pass] = run.server.usages;
  const { usage } = latestOf(run);
  expect(usage).toMatchObject({
    input: pass!.input_tokens,
    output: pass!.output_tokens,
    cacheRead: 7,
    cacheWrite: 11,
  });
  expect(usage!.cost.total).toBeGreaterThan(0);
});

test("an unfinished turn moves the cut to the turn before", async () => {
  const open = (request: LoopbackRequest) => JSON.stringify(request.body).includes("Start the second.");
  const run = await servedAgent({
    answer: (_request, index) => (index === 1 ? callsEcho : { text: index === 0 ? filler(3_000) : "Done." }),
    refuse: (request) =>
      JSON.stringify(request.body).includes('"summarize"') && open(request)
        ? "compaction_incomplete_turn"
        : undefined,
    settings: { keepRecentTokens: 100 },
  });
  await run.say("Explain the first.");
  await run.say("Start the second.");
  expect(await run.agent.compact({ firstKeptEntryId: lastAnswer(run) })).toMatchObject({
    status: "compacted",
  });
  const { firstKeptEntryId } = latestOf(run);
  expect(run.session.entry(firstKeptEntryId)).toMatchObject({
    message: { role: "user", content: expect.stringContaining("Start the second.") },
  });
  expect(run.server.requests.filter(({ kind }) => kind === "compaction")).toHaveLength(2);
});

const callsEcho = { calls: [{ id: "toolu_1", name: "echo", arguments: "{}" }] };

function lastAnswer({ session }: ServedAgent): string {
  return session.path().findLast((entry) => entry.type === "message" && entry.message.role === "assistant")!
    .id;
}

test("falls back to the next kind, says why, and does not ask the provider again during the task", async () => {
  const run = await servedAgent({
    refuse: ({ body }) =>
      JSON.stringify(body).includes('"summarize"') ? "compaction_unavailable" : undefined,
  });
  await work(run);
  const { status, caveat } = await run.agent.compact();
  expect(status).toBe("compacted");
  expect(caveat).toContain("The provider's compaction was not used: Refused: compaction_unavailable.");
  expect(latestOf(run).details).toMatchObject({ manifest: { rung: "summarise" } });
});

test("a model that cannot compact on its provider's side falls back with the reason", async () => {
  const run = await servedAgent();
  await run.agent.setModel(run.models.local);
  await work(run);
  expect((await run.agent.compact()).caveat).toContain(
    "The protocol openai-chat has no compaction by the provider.",
  );
  expect(latestOf(run).details).toMatchObject({ manifest: { rung: "summarise" } });
});

test("a refused block is replaced by the readable summary for good, with one notice", async () => {
  const state = { refuses: false };
  const run = await servedAgent({
    refuse: ({ body }) =>
      state.refuses && JSON.stringify(body).includes('"type":"compaction"')
        ? "compaction_signature_invalid"
        : undefined,
  });
  await work(run);
  await run.agent.compact();
  await run.say("Still with the block.");
  expect(firstSent(run.server).hasBlock).toBe(true);
  state.refuses = true;
  await run.say("Refused now.");
  state.refuses = false;
  await run.say("Accepted again.");
  expect(firstSent(run.server).hasBlock).toBe(false);
  const again = await servedAgent({ served: run.server, session: run.session });
  await again.say("After a restart.");
  expect(firstSent(run.server).hasBlock).toBe(false);
  expect([...run.notices, ...again.notices].map(({ code }) => code)).toEqual(["summary_refused"]);
});

test("an undone compaction shows its messages, and a redone one its block", async () => {
  const run = await servedAgent();
  await work(run);
  await run.agent.compact();
  const { id: compactionId } = latestOf(run);
  run.session.append({ type: "custom", customType: "bonsai.undo", data: { compactionId } });
  await run.say("Undone.");
  expect(firstSent(run.server)).toMatchObject({
    hasBlock: false,
    json: expect.stringContaining("Explain it again."),
  });
  run.session.append({ type: "custom", customType: "bonsai.redo", data: { compactionId } });
  await run.say("Redone.");
  expect(firstSent(run.server).hasBlock).toBe(true);
});

test("compactions by threshold and in the background use the provider too", async () => {
  for (const background of [false, true]) {
    const run = await servedAgent({
      settings: { background, threshold: { rule: "percent", percent: 9 }, keepRecentTokens: 500 },
    });
    for (let turn = 0; turn < 4; turn += 1) await run.say("Explain it.");
    await run.say("And now?");
    const [first] = compactionsOf(run);
    expect(first?.details).toMatchObject({ manifest: { reason: "threshold", rung: "provider" } });
  }
});

test("an overflow is compacted by the provider", async () => {
  const state = { refusals: 0 };
  const run = await servedAgent({
    refuse: ({ body }, index) => {
      const isTurn = !JSON.stringify(body).includes('"summarize"');
      if (index < 2 || !isTurn || state.refusals > 0) return undefined;
      state.refusals += 1;
      return "prompt is too long: 101000 tokens > 100000 maximum";
    },
  });
  await work(run);
  await run.say("Too long now.");
  expect(latestOf(run).details).toMatchObject({ manifest: { reason: "overflow", rung: "provider" } });
});

test("the summary of a branch is written by the provider, without a block in the middle of the conversation", async () => {
  const run = await servedAgent();
  await run.say("Begin.");
  const { leafId } = run.session;
  await work(run);
  const { summaryEntry } = await run.agent.navigate(leafId!, { summarise: true });
  expect(summaryEntry?.summary).toContain("of provider summary 1");
  await run.say("On from the branch.");
  expect(firstSent(run.server).hasBlock).toBe(false);
});

test.each([
  ["has no compaction of its own", "local", undefined, "compact"],
  ["writes sealed summaries", "gpt", undefined, "are sealed, and a branch needs a readable one."],
  ["refuses the request", "claude", "compaction_nothing_to_summarize", "compaction_nothing_to_summarize"],
] as const)(
  "a branch is summarised as text, with one notice, if the provider %s",
  async (_title, name, code, reason) => {
    const run = await servedAgent({
      refuse: ({ body }) => (JSON.stringify(body).includes('"summarize"') ? code : undefined),
    });
    await run.agent.setModel(run.models[name]);
    await run.say("Begin.");
    for (let branch = 0; branch < 2; branch += 1) {
      const { leafId } = run.session;
      await run.say("Explain it.");
      const { summaryEntry } = await run.agent.navigate(leafId!, { summarise: true });
      expect(summaryEntry?.summary).toContain("as it stands");
    }
    const notices = run.notices.filter((notice) => notice.code === "branch_summary_as_text");
    expect(notices.map(({ message }) => message)).toEqual([expect.stringContaining(reason)]);
  },
);
