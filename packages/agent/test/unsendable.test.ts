import { contentText } from "@bonsai-agent/messages";
import { describe, expect, test } from "vitest";
import { actor, done, filler, type ScriptedAgentOptions, scriptedAgent } from "./scripted-agent.ts";

const model = { ...actor, contextWindow: 33_000 };
/** Parallel calls of `echo`, each with so many tokens. */
const reads = (count: number, tokens: number) => ({
  calls: Array.from({ length: count }, () => ({ name: "echo", arguments: { tokens } })),
});

/** Size of each request, by our own count of its text. */
const sizes = ({ turns }: ReturnType<typeof scriptedAgent>) =>
  turns.map(({ messages }) => Math.ceil(JSON.stringify(messages).length / 4));

function played(options: ScriptedAgentOptions) {
  const run = scriptedAgent({ model, ...options });
  const outcomes: unknown[] = [];
  run.lifecycle.on("auto_compaction_end", ({ outcome }) => {
    if (outcome.status !== "skipped") outcomes.push(outcome);
  });
  return { ...run, outcomes };
}

describe("a context far above the window is made smaller before it is sent", () => {
  test.each<[string, ReturnType<typeof reads>, Partial<ScriptedAgentOptions>, boolean, string]>([
    ["six parallel results", reads(6, 6_150), {}, false, "threshold"],
    ["one huge result", reads(1, 60_000), {}, false, "threshold"],
    ["in a sub-agent", reads(6, 6_150), {}, true, "overflow"],
    [
      "with the threshold switched off",
      reads(6, 6_150),
      { settings: { compaction: { enabled: false } } },
      false,
      "overflow",
    ],
    [
      "without a site between tools",
      reads(6, 6_150),
      { policy: { sites: ["beforePrompt"] } },
      false,
      "overflow",
    ],
    ["with very many results", reads(150, 400), {}, false, "threshold"],
  ])("%s", async (_, answer, options, isSubAgent, reason) => {
    const run = played({ ...options, turn: [answer, done], isSubAgent });
    expect((await run.agent.prompt("look at all of it")).status).toBe("done");
    expect(run.turns).toHaveLength(2);
    expect(Math.max(...sizes(run))).toBeLessThan(33_000);
    expect(run.outcomes).toMatchObject([
      { status: "masked", reason, steps: { shortened: answer.calls.length } },
    ]);
    const [{ detail, tokensBefore, tokensAfter }] = run.outcomes as [Record<string, number>];
    expect(detail).toMatch(/^Shortened \d+ messages?; no summary was needed\.$/);
    expect(tokensAfter).toBeLessThan(Math.min(33_000, tokensBefore!));
    // Printed text stays in the session.
    const stored = run.session.path().flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
    const results = stored.filter(({ role }) => role === "toolResult");
    for (const { content } of results as { content: unknown }[])
      expect(contentText(content)).not.toContain("more characters");
  });

  test("summarises earlier messages first, and the notice names each step", async () => {
    const talk = Array.from({ length: 4 }, () => ({ text: filler(5_000) }));
    const run = played({ turn: [...talk, reads(6, 6_150), done] });
    for (const _ of talk) await run.agent.prompt("go on");
    expect((await run.agent.prompt("look at all of it")).status).toBe("done");
    expect(Math.max(...sizes(run))).toBeLessThan(33_000);
    const last = run.outcomes.at(-1) as { detail: string };
    expect(last).toMatchObject({ status: "compacted", steps: { shortened: 6 } });
    expect(last.detail).toMatch(/^Compacted the context: summarised \d+ messages, shortened 6 messages\./);
  });

  test("sends the context when both are off, and the provider's refusal is the error", async () => {
    const settings = { compaction: { enabled: false, onOverflow: false } };
    const run = played({ turn: [reads(6, 6_150), done], settings });
    const { status, error } = await run.agent.prompt("look at all of it");
    expect([status, error?.code]).toEqual(["failed", "model_failed"]);
    expect(error?.message).toContain("prompt is too long");
    expect(run.outcomes).toEqual([]);
  });

  test("sends the context when the window is unknown", async () => {
    const run = played({ model: { ...model, contextWindow: 0 }, turn: [reads(6, 60_000), done] });
    expect((await run.agent.prompt("look at all of it")).status).toBe("done");
    expect(run.outcomes).toEqual([]);
  });

  test("an extension that decides what is sent is not stopped", async () => {
    const run = played({ turn: [reads(6, 6_150), done], settings: { compaction: { enabled: false } } });
    run.lifecycle.on("context", ({ messages }) => ({ messages: messages.slice(0, 1) }));
    expect((await run.agent.prompt("look")).status).toBe("done");
    expect(run.outcomes).toEqual([]);
  });
});

describe("a prompt that is larger than the window by itself", () => {
  test.each([0, 3])("behind %d turns: one error, no request, nothing lost", async (turns) => {
    const talk = Array.from({ length: turns }, () => ({ text: filler(4_000) }));
    const run = played({ turn: [...talk, done, done] });
    for (const _ of talk) await run.agent.prompt("go on");
    const prompt = filler(40_000);
    const { status, error } = await run.agent.prompt(prompt);
    expect([status, error?.code]).toEqual(["failed", "prompt_too_large"]);
    expect(error?.hint).toContain("save the text in a file");
    expect([run.turns.length, run.summaries.length]).toEqual([turns, 0]);
    const last = run.session.projection().items.at(-1)!;
    expect([last.edit, contentText((last.message as { content: unknown }).content)]).toEqual([
      undefined,
      prompt,
    ]);
    // The next message is worked on: what was too large is summarised then.
    expect((await run.agent.prompt("never mind, just say done")).status).toBe("done");
    expect(Math.max(...sizes(run))).toBeLessThan(33_000);
  });
});

test("a context that cannot be made small enough ends in one error and no request", async () => {
  const run = played({ model: { ...model, contextWindow: 4_000 }, turn: [reads(150, 400), done] });
  const { status, error } = await run.agent.prompt("look at all of it");
  expect([status, error?.code, run.turns.length]).toEqual(["failed", "context_overflow", 1]);
  expect(error?.message).toContain("The request was not sent.");
});
