import { MASK_PLACEHOLDER } from "@bonsai-agent/compaction";
import { contentText, tokenEstimator } from "@bonsai-agent/messages";
import type { ProviderCall } from "@bonsai-agent/models";
import type { ScenarioAnswer } from "@bonsai-agent/models/scripted";
import type { BranchSummaryEntry, CompactionEntry, Session } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { actor, calls, filler, scriptedAgent } from "./scripted-agent.ts";

const prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

/** A model that fills in the headings that it is asked for, wherever the request names them. */
function obedient({ messages }: ProviderCall): ScenarioAnswer {
  const asked = contentText((messages.at(-1) as { content: unknown }).content);
  const form = asked.slice(asked.lastIndexOf("Use exactly these headings"));
  const headings = [...form.matchAll(/^## .+$/gm)].map(([heading]) => heading);
  return { text: headings.map((heading) => `${heading}\nnoted`).join("\n\n") };
}

const requestTokens = ({ systemPrompt, tools, messages }: ProviderCall) =>
  tokenEstimator.text(systemPrompt) +
  tokenEstimator.text(JSON.stringify(tools)) +
  messages.reduce((sum, message) => sum + tokenEstimator.message(message), 0);

const compactions = (session: Session) =>
  session.entries().filter((entry): entry is CompactionEntry => entry.type === "compaction");
const manifests = (session: Session) =>
  compactions(session).map(
    ({ details }) => (details as { manifest: { rung: string; splitTurn: boolean } }).manifest,
  );

test.each([6_000, 10_000, 20_000])(
  "in a window of %d tokens, every request for a summary fits beside the answer that it may get",
  async (contextWindow) => {
    const { agent, session, summaries, turns } = scriptedAgent({
      model: { ...actor, contextWindow, maxOutputTokens: contextWindow / 10 },
      summary: obedient,
      turn: ({ messages }) =>
        messages.at(-1)?.role === "toolResult"
          ? { text: filler(300) }
          : calls({ tokens: contextWindow / 12 }),
    });
    for (let turn = 0; turn < 25; turn += 1) expect((await agent.prompt(`task ${turn}`)).status).toBe("done");
    expect(compactions(session).length).toBeGreaterThan(2);
    expect(summaries.length).toBeGreaterThan(2);
    for (const call of [...summaries, ...turns])
      expect(requestTokens(call) + call.maxOutputTokens).toBeLessThanOrEqual(contextWindow);
  },
);

test("a smaller model that takes over a long session gets it in pieces that fit", async () => {
  const long = scriptedAgent({
    model: { ...actor, contextWindow: 200_000 },
    turn: () => ({ text: filler(4_000) }),
  });
  for (let turn = 0; turn < 8; turn += 1) await long.agent.prompt(`task ${turn}`);
  const { session } = long;
  const { agent, summaries } = scriptedAgent({
    session,
    turn: () => ({ text: "Go on." }),
    summary: obedient,
  });
  expect((await agent.prompt("and now?")).status).toBe("done");
  expect(manifests(session)).toMatchObject([{ rung: "chunks" }]);
  expect(summaries.length).toBeGreaterThan(1);
  for (const call of summaries)
    expect(requestTokens(call) + call.maxOutputTokens).toBeLessThanOrEqual(actor.contextWindow!);
});

test("masks come first: where they are enough, no model is asked", async () => {
  const { agent, session, summaries } = scriptedAgent({
    settings: { compaction: { mask: { protectTokens: 2_000, minimumTokens: 500 } } },
    turn: ({ messages }) =>
      messages.at(-1)?.role === "toolResult" ? { text: "Seen." } : calls({ tokens: 6_000 }),
  });
  for (let turn = 0; turn < 4; turn += 1) await agent.prompt(`look ${turn}`);
  const seen = session.projection().items.map(({ message }) => JSON.stringify(message));
  expect(seen.filter((text) => text.includes(MASK_PLACEHOLDER)).length).toBeGreaterThan(0);
  expect(summaries).toEqual([]);
  expect(compactions(session)).toEqual([]);
});

const bad: [string, ScenarioAnswer][] = [
  ["nothing", { text: "" }],
  ["a part of it", { text: "## Goal\nhalf", stopReason: "length" }],
  ["a refusal", { text: "I'm sorry, I can't help with that." }],
  ["a call", { calls: [{ name: "echo", arguments: {} }] }],
  ["the conversation's next answer", { text: "Sure, I'll do it." }],
];

test("/compact stores no unusable summary if the digest is off", async () => {
  for (const [name, answer] of bad) {
    const { agent, session, notices } = scriptedAgent({
      settings: { compaction: { summarizer: { fallback: "never" } } },
      turn: () => ({ text: filler(3_000) }),
      summary: () => answer,
    });
    for (const text of ["one", "two", "three"]) await agent.prompt(text);
    const before = session.entries().length;
    const outcome = await agent.compact();
    expect.soft(outcome.status, name).toBe("failed");
    expect.soft(session.entries(), name).toHaveLength(before);
    expect
      .soft(
        notices.filter(({ code }) => code.includes("compaction")),
        name,
      )
      .toEqual([]);
  }
});

test("the digest replaces an unusable summary after an overflow", async () => {
  for (const [name, answer] of bad) {
    let isRefused = false;
    const { agent, session, summaries } = scriptedAgent({
      settings: { compaction: { enabled: false } },
      summary: () => answer,
      turn: ({ messages }) => {
        if (messages.length < 7 || isRefused) return { text: filler(2_000) };
        isRefused = true;
        return { error: { status: 400, message: "prompt is too long: 21000 tokens > 20000 maximum" } };
      },
    });
    for (const text of ["one", "two", "three", "four"])
      expect.soft((await agent.prompt(text)).status, name).toBe("done");
    expect.soft(summaries.length, name).toBeGreaterThan(0);
    expect.soft(manifests(session), name).toMatchObject([{ rung: "digest" }]);
  }
});

test("history, turn prefix, update and branch: each accepts the summary that it requests", async () => {
  const { agent, session, summaries } = scriptedAgent({
    summary: obedient,
    settings: { compaction: { enabled: false, keepRecentTokens: 1_000 } },
    turn: ({ messages }, count) =>
      count < 4 || messages.at(-1)?.role === "toolResult" ? { text: filler(900) } : calls({ tokens: 700 }),
  });
  await agent.prompt("one");
  const fork = session.leafId!;
  await agent.prompt("two");
  await agent.prompt("three");
  expect((await agent.compact()).status).toBe("compacted");
  await agent.prompt("four");
  expect((await agent.compact()).status).toBe("compacted");
  await agent.navigate(fork, { summarise: true });
  expect(manifests(session).some(({ splitTurn }) => splitTurn)).toBe(true);
  const forms = summaries.map((call) => obedient(call).text!.split("\n")[0]);
  expect(new Set(forms)).toEqual(new Set(["## Goal", "## Request"]));
  expect(summaries.some(({ messages }) => JSON.stringify(messages).includes("<previous-summary>"))).toBe(
    true,
  );
  const branch = session
    .entries()
    .find((entry): entry is BranchSummaryEntry => entry.type === "branch_summary");
  expect(branch?.summary).toContain("## Goal\nnoted");
  expect(branch?.summary).not.toContain("Critical Context");
});

test("stores the cost of a summary with it", async () => {
  const { agent, session } = scriptedAgent({
    model: { ...actor, usdPerMillionTokens: prices },
    turn: () => ({ text: filler(3_000) }),
    summary: obedient,
  });
  for (const text of ["one", "two", "three"]) await agent.prompt(text);
  await agent.compact();
  const [compaction] = compactions(session);
  expect(compaction?.usage?.cost.total).toBeGreaterThan(0);
  expect(compaction?.details).toMatchObject({
    manifest: { requests: expect.any(Number), costUsd: compaction?.usage?.cost.total },
  });
});

test("with a warm cache, the summary of the history goes on from the last turn's request", async () => {
  const { agent, session, summaries, turns } = scriptedAgent({
    model: { ...actor, contextWindow: 100_000, usdPerMillionTokens: prices },
    settings: { compaction: { keepRecentTokens: 100 } },
    summary: obedient,
    turn: ({ messages }) => ({
      text: filler(2_500),
      usage: { input: 10, output: 2_500, cacheRead: messages.length * 1_200, cacheWrite: 500 },
    }),
  });
  for (let turn = 0; turn < 10; turn += 1) await agent.prompt(`task ${turn}`);
  expect((await agent.compact()).status).toBe("compacted");
  const last = turns.at(-1)!;
  // The short turn prefix costs less as text.
  const longestFirst = summaries.toSorted((one, other) => other.messages.length - one.messages.length);
  expect(longestFirst.map(({ messages }) => messages.length)).toEqual([last.messages.length + 2, 1]);
  const [{ messages, systemPrompt, tools }] = longestFirst as [ProviderCall];
  expect(JSON.stringify(messages.slice(0, -2))).toBe(JSON.stringify(last.messages));
  expect({ systemPrompt, tools }).toEqual({ systemPrompt: last.systemPrompt, tools: last.tools });
  expect(session.projection().items[0]?.message).toMatchObject({
    summary: expect.stringContaining("## Goal\nnoted"),
  });
});
