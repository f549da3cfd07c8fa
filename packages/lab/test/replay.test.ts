import { CompactionController, compactionSettings, digestSummariser } from "@bonsai-agent/compaction";
import { CostSum, emptyUsage, type Message, usualCacheRules } from "@bonsai-agent/messages";
import { createSession } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { Bill } from "../src/bill.ts";
import { policyNamed, policyOf, usualPolicies } from "../src/policies.ts";
import { missedPrefixes, type Recording, recordingOf } from "../src/recording.ts";
import { replay } from "../src/replay.ts";
import { playPolicies } from "../src/run.ts";
import { headline, runNotes, tableRows } from "../src/table.ts";

const prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const WINDOW = 60_000;
const MINUTE = 60_000;
const SMALL = "pi+keepRecentTokens=6000";

/** A day of turns, each with a call and its result, and a request every 30 seconds. */
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
    ...{ messages, model: undefined, fixedTokens: 2_000, countRatio: 1, windowTokens: WINDOW },
    recorded: { requests: 0, sentTokens: 0, cost: new CostSum(), highestTokens: 0, compactions: 0 },
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

test("replays each recorded answer as a request, in a context that grows until a compaction", async () => {
  const { requests, context, compactions, waitedMs, usd } = await played("bonsai", day(8));
  expect(requests).toBe(16);
  expect(context).toEqual([...context].sort((a, b) => a - b));
  expect([compactions, waitedMs]).toEqual([{}, 0]);
  expect(usd).toBeGreaterThan(0);
});

test("a background summary saves the user's waiting time", async () => {
  const off = "bonsai+mask.enabled=false";
  const [ahead, waiting] = [await played(off), await played(`${off}+background=false`)];
  expect(compactionsOf(waiting)).toBeGreaterThan(0);
  expect(waiting.waitedMs).toBe(compactionsOf(waiting) * 25_000);
  expect(ahead.waitedMs).toBeLessThan(waiting.waitedMs / 2);
  expect(compactionsOf(ahead)).toBeGreaterThan(0);
});

test("in a small window, background compactions are about as rare as foreground ones", async () => {
  const settings = (background: boolean) =>
    policyNamed(`bonsai+mask.enabled=false+background=${background}`).settings;
  const small = { recording: recorded(day(50)), prices, windowTokens: 20_000, summaryMs: 1 };
  const [ahead, waiting] = [
    await replay({ ...small, settings: settings(true) }),
    await replay({ ...small, settings: settings(false) }),
  ];
  expect(compactionsOf(waiting)).toBeGreaterThan(5);
  expect(compactionsOf(ahead)).toBeLessThan(compactionsOf(waiting) * 1.4);
});

test("counts repeated reads of files whose result has left the view", async () => {
  const [kept, lost] = [await played("bonsai", day(8)), await played(`${SMALL}+24k`)];
  expect(kept.readAgain).toBe(0);
  expect(lost.readAgain).toBeGreaterThan(0);
});

const masking = "bonsai+mask.protectTokens=2000+mask.minimumTokens=500";

/** A day whose first result has a term that the user names twice at the end. */
function dayWithTerm(): Message[] {
  const messages = day(60);
  const naming = "Compare it with value_first_kept.";
  messages[2] = {
    ...messages[2],
    content: [{ type: "text", text: `value_first_kept ${"x ".repeat(9)}` }],
  } as Message;
  const last = messages.at(-1)!;
  const turn = (minutes: number) => {
    const timestamp = last.timestamp! + minutes * MINUTE;
    return [
      { role: "user", content: naming, timestamp },
      { ...last, timestamp: timestamp + 1_000 },
    ];
  };
  return [...messages, ...turn(1), ...turn(2)] as Message[];
}

test("a term that left the view costs one recall when it is needed, and none while it is in view", async () => {
  const [seen, lost] = [await played("bonsai", dayWithTerm(), 200_000), await played(masking, dayWithTerm())];
  expect([seen.recalls, seen.readAgain, seen.lossesUsd]).toEqual([0, 0, 0]);
  expect(lost.masks).toBeGreaterThan(0);
  expect(lost.recalls).toBe(1);
  expect(lost.usd).toBeCloseTo(await usdWithoutLosses(lost), 9);
});

/** The bill of a replay by its classes, and its losses. */
async function usdWithoutLosses({ tokens, summaries, lossesUsd }: Awaited<ReturnType<typeof played>>) {
  const { input, output, cacheRead, cacheWrite } = tokens;
  const own = input * prices.input + output * prices.output;
  return (
    (own + cacheRead * prices.cacheRead + cacheWrite * prices.cacheWrite) / 1e6 + summaries.usd + lossesUsd
  );
}

const newBill = () =>
  new Bill({ prices, cacheRules: usualCacheRules, fixedTokens: 2_000, countRatio: 1, windowTokens: WINDOW });

test("a fetch of lost content costs the previous request, its call and its result", () => {
  const bill = newBill();
  const [asked, call] = day(1);
  bill.request([asked!], call!, 0);
  bill.fetch([asked!], 5_000, MINUTE);
  const cached = bill.size([asked!]);
  const usd = (cached * prices.cacheRead + 5_000 * prices.cacheWrite + 100 * prices.output) / 1e6;
  expect(bill.lossesUsd).toBeCloseTo(usd, 9);
});

test("takes an unrecorded window from the largest request before a compaction", () => {
  const { session } = history("U:10 A:5@150000 | U:10 A:5@250");
  expect(recordingOf(session).windowTokens).toBeUndefined();
  const [first] = session.entries();
  session.append({ type: "compaction", summary: "x", firstKeptEntryId: first!.id, tokensBefore: 9 } as never);
  expect(recordingOf(session).windowTokens).toBeGreaterThan(150_000);
});

test("equal policies share a row, the headline compares with the first policy, and a note names a window out of reach", async () => {
  const recording = recorded(day(40));
  const model = { recording, prices, cacheRules: usualCacheRules };
  const policies = ["pi", "opencode", `${SMALL}+24k`].map(policyNamed);
  const run = await playPolicies({ days: [{ ...model, windowTokens: 200_000 }], policies });
  expect(tableRows(run.policies).map(({ policy }) => policy)).toEqual(["pi, opencode", `${SMALL}+24k`]);
  const [shown] = run.policies;
  const alike = { ...shown!, policy: "alike", usd: shown!.usd + 0.000_001 };
  expect(tableRows([shown!, alike]).map(({ policy }) => policy)).toEqual(["pi, alike"]);
  const first = { ...run.policies[0]!, usd: 35.51, waitedSeconds: 75 };
  const auto = { ...first, policy: "auto", usd: 20.6, waitedSeconds: 25 };
  expect(headline({ ...run, policies: [first, auto] })).toBe(
    "auto would have cost $20.60 instead of $35.51 under pi, with 50 s less waiting.",
  );
  expect(headline({ ...run, policies: [auto, first] })).toContain("no other policy would have cost less");
  expect(runNotes(run)).toEqual([
    expect.stringContaining("never filled the replayed window of 200,000 tokens"),
  ]);
  const reached = { ...recording, recorded: { ...recording.recorded, highestTokens: 190_000 } };
  const filled = await playPolicies({
    days: [{ ...model, recording: reached, windowTokens: 200_000 }],
    policies,
  });
  expect(runNotes(filled)).toEqual([]);
});

test("replaying a session under its own policy sends the same tokens, within 5 percent", async () => {
  const settings = compactionSettings({ background: false, mask: { enabled: false } });
  const session = createSession({ cwd: "/project" });
  const bill = newBill();
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

test("a clock that stops, jumps or runs backwards hardly changes the cost of a policy", async () => {
  const messages = day(80);
  const policy = `${SMALL}+30k+background=true`;
  const usual = await played(policy, messages, 200_000);
  expect(compactionsOf(usual)).toBeGreaterThan(5);
  const clocks: Array<(timestamp: number, at: number) => unknown> = [
    () => 0,
    () => undefined,
    (timestamp) => new Date(timestamp).toISOString(),
    (timestamp, at) => (at === 20 ? 9e12 : timestamp),
    (timestamp) => 1e9 - timestamp,
  ];
  for (const clock of clocks) {
    const odd = messages.map((message, at) => ({ ...message, timestamp: clock(message.timestamp!, at) }));
    const replayed = await played(policy, odd as Message[], 200_000);
    expect(Math.abs(replayed.usd / usual.usd - 1)).toBeLessThan(0.25);
    expect(Math.max(...replayed.context)).toBeLessThan(60_000);
  }
});

test("follows the policy's sites and the provider's window and refusals", async () => {
  const afterAnswers = await played(`${SMALL}+policy.sites=["afterAnswer"]`);
  expect(compactionsOf(afterAnswers)).toBeGreaterThan(0);
  // The next prompt comes half a minute after an answer, and a summary is there by then.
  expect(afterAnswers.waitedMs).toBe(0);
  const never = await played(`${SMALL}+enabled=false`);
  expect(never.compactions.threshold).toBeUndefined();
  expect(never.compactions.overflow).toBeGreaterThan(0);
  expect(Math.max(...never.context)).toBeLessThanOrEqual(WINDOW);
  expect([never.tooLarge, (await played("pi", day(4), 1_000)).tooLarge > 0]).toEqual([0, true]);
});

test("smaller working sizes cost less money and more compactions, and limit the context", async () => {
  const sizes = [32, 48, 80, 160];
  const replays = await Promise.all(sizes.map((size) => played(`pi+${size}k`, day(100), 200_000)));
  const inOrder = (values: readonly number[]) => [...values].sort((a, b) => a - b);
  const dollars = replays.map(({ usd, lossesUsd }) => usd - lossesUsd);
  expect(dollars).toEqual(inOrder(dollars));
  expect(dollars.at(-1)! / dollars[0]!).toBeGreaterThan(1.2);
  const counts = replays.map(compactionsOf).reverse();
  expect(counts).toEqual(inOrder(counts));
  expect(counts.at(-1)).toBeGreaterThan(10);
  expect(Math.max(...replays[1]!.context)).toBeLessThan(53_000);
});

test("a recording has the session's branch summaries and window, but no removed messages and no compactions", () => {
  const { session } = history("U:10 A(t1=read:a.ts):5@100 T1:40 A:5@200 | U:10 A:5@250");
  const [first] = session.entries();
  session.append({ type: "branch_summary", summary: "Another way was tried.", fromId: first!.id } as never);
  const omitted = session.append({
    type: "message",
    message: { role: "user", content: "Forget this.", timestamp: 0 },
  });
  session.append({ type: "context_edit", targetId: omitted.id, replacement: null } as never);
  const sizes = { keepTokens: 8_000, reserveTokens: 4_000, windowTokens: 33_000 };
  const settings = { preset: "bonsai", estimator: "calibrated", ...sizes };
  session.append({
    type: "compaction",
    summary: "Whatever.",
    firstKeptEntryId: first!.id,
    tokensBefore: 400,
    details: { prose: "## Goal", manifest: { settings, costUsd: 0.25 } },
  } as never);
  const recording = recordingOf(session);
  const text = JSON.stringify(recording.messages);
  expect(text).toContain("Another way was tried.");
  expect(text).not.toContain("Forget this.");
  expect(text).not.toContain("Whatever.");
  expect(recording).toMatchObject({
    windowTokens: 33_000,
    recorded: { compactions: 1 },
  });
  expect(recording.recorded.cost.cost()).toMatchObject({ usd: 0.25 });
});

test("counts prefixes that a provider dropped too early, but no changed or expired ones", () => {
  const answer = (minutes: number, cacheRead: number, input: number) =>
    ({
      ...day(1)[1],
      timestamp: minutes * MINUTE,
      usage: { ...emptyUsage(), cacheRead, input, totalTokens: cacheRead + input },
    }) as Message;
  const messages = [
    answer(0, 0, 10_000),
    answer(1, 10_000, 1_000),
    answer(2, 0, 12_000),
    answer(20, 0, 13_000),
    answer(21, 0, 4_000),
  ];
  const recording = { ...recorded(messages), changes: [4] };
  const missed = missedPrefixes(recording, { prices, cacheRules: usualCacheRules });
  expect(missed).toMatchObject({ requests: 1, tokens: 11_000 });
  expect(missed.usd).toBeCloseTo((11_000 * (3.75 - 0.3)) / 1e6, 9);
});

test("the cache keeps an unchanged prefix of the minimum size for its lifetime", () => {
  const bill = newBill();
  const [first, second, third] = day(2);
  const one = bill.request([first!], second!, 0);
  expect(one).toMatchObject({ cacheRead: 0, input: 0 });
  const two = bill.request([first!, second!, third!], second!, MINUTE);
  expect(two.cacheRead).toBe(one.cacheWrite);
  expect(bill.request([third!], second!, 2 * MINUTE).cacheRead).toBe(2_000);
  expect(bill.request([third!], second!, 8 * MINUTE).cacheRead).toBe(0);
});

test("reads a policy from a file's settings, and names an invalid key", () => {
  expect(policyOf("mine.json", { economy: 48_000 }).settings.economy).toBe(48_000);
  expect(policyOf("mine.json", { model: "a/b", compaction: { preset: "pi" } }).settings.preset).toBe("pi");
  expect(() => policyOf("mine.json", ["pi"])).toThrow(expect.objectContaining({ code: "policy_invalid" }));
  expect(() => policyOf("mine.json", { economy: "much" })).toThrow(
    expect.objectContaining({ code: "compaction_setting_invalid" }),
  );
});

test("reads a policy from a preset with changes, and refuses other names", () => {
  expect(policyNamed("pi+64k").settings).toMatchObject({ preset: "pi", economy: 64_000 });
  expect(policyNamed("bonsai+auto+mask.enabled=false").settings).toMatchObject({
    economy: "auto",
    mask: { enabled: false },
  });
  expect(usualPolicies().map(({ name }) => name)).toContain("opencode");
  expect(() => policyNamed("claude")).toThrow(expect.objectContaining({ code: "policy_unknown" }));
  expect(() => policyNamed("pi+__proto__.x=1")).toThrow(
    expect.objectContaining({ code: "compaction_setting_invalid" }),
  );
  expect(() => policyNamed("pi+keepRecentTokens=-1")).toThrow(
    expect.objectContaining({ code: "compaction_setting_invalid" }),
  );
});
