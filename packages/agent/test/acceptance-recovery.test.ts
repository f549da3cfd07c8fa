import { BonsaiError, callsIn } from "@bonsai-agent/messages";
import { ModelClient, ProviderError } from "@bonsai-agent/models";
import { describe, expect, test } from "vitest";
import { agentSettings } from "../src/settings.ts";
import {
  actor,
  calls,
  done,
  filler,
  overflow,
  type ScriptedAgentOptions,
  scriptedAgent,
  summary,
  tokens,
} from "./scripted-agent.ts";

/** Two turns that together can be compacted at a window of 20,000, then what is under test. */
async function filled(options: ScriptedAgentOptions) {
  const play = options.turn as readonly object[];
  const run = scriptedAgent({ ...options, turn: [done, done, ...play] });
  for (let turn = 0; turn < 2; turn++) await run.agent.prompt(filler(4_000));
  return run;
}

const compactions = ({ session }: ReturnType<typeof scriptedAgent>) =>
  session.path().filter((entry) => entry.type === "compaction");

test("a success that used more than the window holds counts as an overflow", async () => {
  const run = await filled({ turn: [{ text: "cut", ...tokens(20_500) }, done] });
  expect((await run.agent.prompt("go")).answer?.content).toEqual([{ type: "text", text: "done" }]);
  expect(compactions(run)).toHaveLength(1);
});

test("overflow twice in a row is one compaction, one retry, one error; the next message may be recovered again", async () => {
  const run = await filled({ turn: [overflow, overflow, overflow, done] });
  const failed = await run.agent.prompt("go");
  expect(failed).toMatchObject({ status: "failed", error: { code: "context_overflow" } });
  expect(failed.error?.message).toContain("the request was still too long after a compaction");
  expect(compactions(run)).toHaveLength(1);
  expect(run.turns).toHaveLength(4);

  expect((await run.agent.prompt(filler(5_000))).status).toBe("done");
  expect(compactions(run)).toHaveLength(2);
});

describe("an overflow that no row of the table knows", () => {
  const refused = (message: string, status = 400) => ({ error: { status, message } });
  const onlyOverflow = { compaction: { enabled: false } };
  const codes = ({ notices }: ReturnType<typeof scriptedAgent>) => notices.map(({ code }) => code);

  test.each([
    ["by its meaning", refused("Your messages come to 21,000 tokens; the model takes 20,000 at most.")],
    ["by a code alone", refused("INPUT_TOO_LONG")],
    ["in another language", refused("上下文 token 数超出模型限制")],
  ])("is recovered from: %s", async (_how, refusal) => {
    const run = await filled({ turn: [refusal, done] });
    expect((await run.agent.prompt("go")).status).toBe("done");
    expect(compactions(run)).toHaveLength(1);
    expect(codes(run)).not.toContain("overflow_presumed");
  });

  test.each([
    ["a bare 400 near the window", refused("Bad Request"), 9_500],
    ["a 413 of text alone, far from the window", refused("413 Payload Too Large", 413), 1_000],
  ])("is recovered from by circumstance: %s", async (_what, refusal, size) => {
    const run = await filled({ turn: [refusal, done], settings: onlyOverflow });
    expect((await run.agent.prompt(filler(size))).status).toBe("done");
    expect(compactions(run)).toHaveLength(1);
    expect(run.turns).toHaveLength(4);
    expect(codes(run)).toContain("overflow_presumed");
  });

  test.each([
    ["a bare 400", refused("Bad Request"), 9_500],
    ["a 413 of text alone", refused("413 Payload Too Large", 413), 9_500],
  ])("is tried once: %s that comes again is told as it is", async (_what, refusal, size) => {
    const run = await filled({ turn: [refusal, refusal, refusal, refusal, refusal], settings: onlyOverflow });
    const failed = await run.agent.prompt(filler(size));
    expect(failed).toMatchObject({ status: "failed", error: { code: "model_failed" } });
    expect(failed.error?.message).toContain(refusal.error.message);
    expect(compactions(run)).toHaveLength(1);
    expect(run.turns).toHaveLength(4);
  });

  test.each([
    ["far from its window", refused("Bad Request"), 1_000],
    ["for a cause that is named", refused("Unknown parameter: 'foo'."), 9_500],
    [
      "for a field that is too long",
      refused("tools.0.name: String should have at most 64 characters"),
      9_500,
    ],
  ])("is not seen in a request that is refused %s", async (_why, refusal, size) => {
    const run = await filled({ turn: [refusal], settings: onlyOverflow });
    const failed = await run.agent.prompt(filler(size));
    expect(failed).toMatchObject({ status: "failed", error: { code: "model_failed" } });
    expect([compactions(run).length, run.turns.length]).toEqual([0, 3]);
  });

  test("is not presumed where the window is unknown", async () => {
    const { contextWindow: _unknown, ...model } = actor;
    const run = await filled({ turn: [refused("Bad Request")], settings: onlyOverflow, model });
    expect((await run.agent.prompt(filler(9_500))).status).toBe("failed");
    expect(compactions(run)).toEqual([]);
  });
});

test("the promise of a prompt ends only after the retried answer", async () => {
  const run = await filled({ turn: [overflow, calls(), done] });
  const result = await run.agent.prompt("go");
  expect(result).toMatchObject({ status: "done", answer: { content: [{ text: "done" }] } });
  expect(run.turns).toHaveLength(5);
});

test("the summariser fails too: the session goes on through the digest", async () => {
  const run = await filled({
    turn: [overflow, done],
    summary: () => ({ error: { status: 500, message: "down" } }),
  });
  expect((await run.agent.prompt("go")).status).toBe("done");
  expect(compactions(run)[0]?.details).toMatchObject({ manifest: { rung: "digest" } });
});

const noDigest = { compaction: { summarizer: { fallback: "never" } } };

test("without the digest, one error names both causes, and the session stays usable", async () => {
  const run = await filled({
    turn: [overflow, done],
    summary: () => ({ error: { status: 500, message: "the summariser is down" } }),
    settings: noDigest,
  });
  const { status, error } = await run.agent.prompt("go");
  expect(status).toBe("failed");
  expect(error?.message).toContain("Context too large. Compaction failed. Use /compact to retry manually.");
  expect(error?.message).toContain("the summariser is down");
  expect(error?.message).toContain("prompt is too long");
  expect(compactions(run)).toEqual([]);
  expect((await run.agent.prompt("still there?")).status).toBe("done");
});

test("an extension's veto of a recovery is the cause in the error", async () => {
  const run = await filled({ turn: [overflow] });
  run.lifecycle.on("session_before_compact", () => ({ cancel: true, reason: "not now" }));
  const { status, error } = await run.agent.prompt("go");
  expect({ status, code: error?.code }).toEqual({ status: "failed", code: "context_overflow" });
  expect(error?.message).toContain("not now");
});

test("every result has its call after a recovery in the middle of a task", async () => {
  const run = await filled({ turn: [calls({ tokens: 1_000 }), overflow, done] });
  expect((await run.agent.prompt("go")).status).toBe("done");
  const { messages } = run.turns.at(-1)!;
  const called = messages.flatMap(callsIn).map(({ id }) => id);
  const answered = messages.flatMap((each) => (each.role === "toolResult" ? [each.toolCallId] : []));
  expect(answered).toEqual(called);
});

test("an answer that fails otherwise is the run's error, and names the model", async () => {
  const { agent } = scriptedAgent({ turn: [{ error: { status: 401, message: "invalid key" } }] });
  const { status, error, answer } = await agent.prompt("go");
  expect(status).toBe("failed");
  expect(BonsaiError.is(error) && error.code).toBe("model_failed");
  expect(error?.message).toMatch(/scripted\/actor.*invalid key/);
  expect(answer?.stopReason).toBe("error");
});

test.each([
  ["klaude", "done", 1],
  ["bonsai", "failed", 0],
])("17: under preset %s a 429 without a body ends as %s", async (preset, status, compactions) => {
  const settings = { compaction: { preset, enabled: false } };
  let requests = 0;
  const models = new ModelClient({
    retry: { maxRetries: 0 },
    bodyless429IsOverflow: agentSettings(settings).compaction.bodyless429IsOverflow,
    providers: {
      scripted: async () => ({
        async *stream({ purpose }, answer) {
          if (purpose === "turn") requests += 1;
          if (requests === 3 && purpose === "turn")
            throw new ProviderError({ kind: "refused", status: 429, message: "429 status code (no body)" });
          yield answer.text(purpose === "turn" ? "done" : summary.text!);
          answer.stop("stop");
        },
      }),
    },
  });
  const { agent, session } = scriptedAgent({ turn: [], models, settings });
  for (const size of [4_000, 4_000]) await agent.prompt(filler(size));
  expect(await agent.prompt("go")).toMatchObject({ status });
  expect(session.path().filter(({ type }) => type === "compaction")).toHaveLength(compactions);
});
