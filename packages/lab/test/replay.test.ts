import { CompactionController, compactionSettings, digestSummariser } from "@bonsai-agent/compaction";
import { emptyUsage, type Message, usualCacheRules } from "@bonsai-agent/messages";
import { createSession } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { Bill } from "../src/bill.ts";
import { policyNamed, type Recording, recordingOf, replay, usualPolicies } from "../src/index.ts";

const prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const WINDOW = 60_000;
const MINUTE = 60_000;
const SMALL = "pi+keepRecentTokens=6000";

/** A day of so many turns, each with a call and its result; a request each half minute. */
function day(turns: number, resultChars = 4_000): Message[] {
  const usage = emptyUsage();
  const answer = {
    role: "assistant",
    api: "x",
    provider: "made",
    model: "m",
    usage,
    stopReason: "stop",
  } as const;
  return Array.from({ length: turns }, (_, turn): Message[] => {
    const at = (step: number) => (turn * 3 + step) * 30_000;
    const call = {
      type: "toolCall",
      id: `c${turn}`,
      name: "read",
      arguments: { path: `src/part-${turn % 20}.ts` },
    } as const;
    return [
      { role: "user", content: `Look at src/part-${turn}.ts, number ${turn}.`, timestamp: at(0) },
      { ...answer, content: [call], timestamp: at(1) },
      {
        ...{ role: "toolResult", toolCallId: call.id, toolName: "read", isError: false },
        content: [{ type: "text", text: `part ${turn} `.repeat(resultChars / 8) }],
        timestamp: at(1) + 1,
      },
      { ...answer, content: [{ type: "text", text: `Part ${turn} is done.` }], timestamp: at(2) },
    ] as Message[];
  }).flat();
}

function recorded(messages: readonly Message[]): Recording {
  return {
    ...{ messages, model: undefined, fixedTokens: 2_000, countRatio: 1 },
    recorded: { requests: 0, sentTokens: 0, usd: 0, compactions: 0 },
  };
}

const played = (policy: string, messages = day(60), windowTokens = WINDOW) =>
  replay({
    recording: recorded(messages),
    settings: policyNamed(policy).settings,
    prices,
    windowTokens,
  });
const compactionsOf = ({ compactions }: Awaited<ReturnType<typeof played>>) => compactions.threshold ?? 0;

test("every recorded answer is a request; without need of a compaction, its context only grows", async () => {
  const { requests, context, compactions, waitedMs, usd } = await played("bonsai", day(8));
  expect(requests).toBe(16);
  expect(context).toEqual([...context].sort((a, b) => a - b));
  expect([compactions, waitedMs]).toEqual([{}, 0]);
  expect(usd).toBeGreaterThan(0);
});

test("a smaller working size costs compactions and less money, and stays below it", async () => {
  const [small, large] = [
    await played(`${SMALL}+40k`, day(150), 200_000),
    await played(SMALL, day(150), 200_000),
  ];
  expect(Math.max(...small.context)).toBeLessThan(45_000);
  expect(compactionsOf(small)).toBeGreaterThan(compactionsOf(large));
  expect(small.usd).toBeLessThan(large.usd);
});

test("what is made ahead is not waited for", async () => {
  const off = "bonsai+mask.enabled=false";
  const [ahead, waiting] = [await played(off), await played(`${off}+background=false`)];
  expect(compactionsOf(waiting)).toBeGreaterThan(0);
  expect(waiting.waitedMs).toBe(compactionsOf(waiting) * 25_000);
  expect(ahead.waitedMs).toBeLessThan(waiting.waitedMs / 2);
  expect(compactionsOf(ahead)).toBeGreaterThan(0);
});

test("files that are read again once their result has left the view are counted", async () => {
  const [kept, lost] = [await played("bonsai", day(8)), await played(`${SMALL}+24k`)];
  expect(kept.readAgain).toBe(0);
  expect(lost.readAgain).toBeGreaterThan(0);
});

test("a session of our own, played again by its own policy, sends what it sent, within a twentieth", async () => {
  const settings = compactionSettings({ background: false, mask: { enabled: false } });
  const session = createSession({ cwd: "/project" });
  const bill = new Bill({ prices, cacheRules: usualCacheRules, fixedTokens: 2_000, countRatio: 1 });
  const summariser = { ...digestSummariser(), name: "made/m" };
  const model = () => ({ contextWindow: WINDOW, usdPerMillionTokens: prices });
  const controller = new CompactionController({ session, settings, summariser, model });
  let sentTokens = 0;
  let made = 0;
  for (const message of day(60)) {
    if (message.role === "user") controller.userMessageArrived();
    if (message.role !== "assistant") {
      session.append({ type: "message", message: message as never });
      continue;
    }
    if ((await controller.checkThreshold({ site: "betweenTools" })).status === "compacted") made += 1;
    const sent = session.projection().items.map((item) => item.message);
    const tokens = bill.request(sent, message, message.timestamp);
    const all = tokens.input + tokens.cacheRead + tokens.cacheWrite;
    sentTokens += all;
    const usage = { ...emptyUsage(), ...tokens, totalTokens: all + tokens.output };
    session.append({ type: "message", message: { ...message, usage } as never });
    controller.answerArrived();
  }
  const recording = recordingOf(session);
  expect(recording.recorded).toMatchObject({ requests: 120, sentTokens, compactions: made });
  expect(made).toBeGreaterThan(1);
  const again = await replay({ recording, settings, prices, windowTokens: WINDOW });
  expect(again.requests).toBe(120);
  expect(Math.abs(compactionsOf(again) - made)).toBeLessThanOrEqual(1);
  const replayed = again.context.reduce((sum, tokens) => sum + tokens, 0);
  expect(Math.abs(replayed / sentTokens - 1)).toBeLessThan(0.05);
});

test("a provider's cache keeps a prefix while it is the same, for its time, and from its least size on", () => {
  const bill = new Bill({ prices, cacheRules: usualCacheRules, fixedTokens: 2_000, countRatio: 1 });
  const [first, second, third] = day(2);
  const one = bill.request([first!], second!, 0);
  expect(one).toMatchObject({ cacheRead: 0, input: 0 });
  const two = bill.request([first!, second!, third!], second!, MINUTE);
  expect(two.cacheRead).toBe(one.cacheWrite);
  expect(bill.request([third!], second!, 2 * MINUTE).cacheRead).toBe(2_000);
  expect(bill.request([third!], second!, 8 * MINUTE).cacheRead).toBe(0);
});

test("policies are presets with changes; what is none of them is refused", () => {
  expect(policyNamed("pi+64k").settings).toMatchObject({ preset: "pi", economy: 64_000 });
  expect(policyNamed("bonsai+auto+mask.enabled=false").settings).toMatchObject({
    economy: "auto",
    mask: { enabled: false },
  });
  expect(usualPolicies().map(({ name }) => name)).toContain("opencode");
  expect(() => policyNamed("claude")).toThrow(expect.objectContaining({ code: "policy_unknown" }));
  expect(() => policyNamed("pi+keepRecentTokens=-1")).toThrow(
    expect.objectContaining({ code: "compaction_setting_invalid" }),
  );
});
