import type { SummaryRequest } from "@bonsai-agent/compaction";
import { type CacheRules, CostSum, emptyUsage, type Message, usualCacheRules } from "@bonsai-agent/messages";
import { fewRuns } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Bill } from "../src/bill.ts";
import { policyNamed } from "../src/policies.ts";
import type { Recording } from "../src/recording.ts";
import { replay } from "../src/replay.ts";
import { playPolicies } from "../src/run.ts";
import { runNotes } from "../src/table.ts";

const MINUTE = 60_000;
const prices = { input: 4, output: 20, cacheRead: 0.4, cacheWrite: 5 };
const marked: CacheRules = { ...usualCacheRules, breakpoints: 4, lookbackBlocks: 20, isAutomatic: false };
const endMarked: CacheRules = { ...usualCacheRules, breakpoints: 3, isAutomatic: true };
const unmarked: CacheRules = { ...usualCacheRules, breakpoints: 0, isAutomatic: true };

const text = (tokens: number) => "x".repeat(tokens * 4);
const user = (tokens: number): Message => ({ role: "user", content: text(tokens), timestamp: 0 });
const answer = (tokens: number): Message => ({
  ...{ role: "assistant", api: "x", provider: "made", model: "m", stopReason: "stop", timestamp: 0 },
  ...{ content: [{ type: "text", text: text(tokens) }], usage: emptyUsage() },
});

/** A bill after one request for each of the user's messages. */
function billed(cacheRules: CacheRules, messages: readonly Message[]): Bill {
  const bill = new Bill({ prices, cacheRules, fixedTokens: 2_000, countRatio: 1, windowTokens: 100_000 });
  for (const [at, message] of messages.entries())
    if (message.role === "assistant") bill.request(messages.slice(0, at), message, 0);
  return bill;
}

const asked = (more: Partial<SummaryRequest> = {}): SummaryRequest => ({
  ...{ kind: "history", messages: [], maxSummaryTokens: 8_000, signal: new AbortController().signal },
  ...{ prompt: { system: "", user: text(9_000) }, instruction: text(500) },
  ...more,
});

const turns = Array.from({ length: 4 }, () => [user(3_000), answer(100)]).flat();

/** Tokens of a summary request after the turns. */
function summaryTokens(rules: CacheRules, more: Partial<SummaryRequest>, atMs = MINUTE) {
  const bill = billed(rules, turns);
  bill.summary(asked(more), turns, atMs)("");
  return bill.summaries.tokens;
}

test("bills a summary as text by the server's rule for requests without marks", () => {
  const ways = [marked, endMarked, usualCacheRules].map((rules) => summaryTokens(rules, { way: "text" }));
  const input = ways[0]!.input;
  expect(ways).toEqual([
    { input, cacheRead: 0, cacheWrite: 0, output: 0 },
    { input: 0, cacheRead: 0, cacheWrite: input, output: 0 },
    { input, cacheRead: 0, cacheWrite: 0, output: 0 },
  ]);
});

test("bills a cached summary as the latest request and the instruction, or as text if that is not possible", () => {
  const bill = billed(marked, turns);
  const sent = bill.size(turns.slice(0, -1));
  const cached = summaryTokens(marked, { way: "cached" });
  expect(cached.cacheRead).toBe(sent);
  expect(cached.cacheWrite).toBeGreaterThan(bill.tokensOf(turns.at(-1)!));
  const asText = summaryTokens(marked, { way: "text" });
  const impossible = [
    summaryTokens(marked, { way: "cached" }, 6 * MINUTE),
    summaryTokens(marked, { way: "cached", maxSummaryTokens: 90_000 }),
    summaryTokens(marked, { way: "cached", instruction: "" }),
  ];
  expect(impossible).toEqual([asText, asText, asText]);
});

test("bills a provider's compaction on the cached prefix, and a sealed one without it", () => {
  const span = turns.slice(0, 5);
  const readable = billed(marked, turns);
  const instructions = text(300);
  const block = readable.providerSummary({ messages: span, instructions }, false, MINUTE)(text(150));
  expect(readable.summaries).toMatchObject({
    requests: 1,
    tokens: { cacheRead: readable.size(span), cacheWrite: readable.size([user(300)]) - 2_000 },
  });
  expect(block.tokens).toBe(readable.summaries.tokens.output);
  const sealed = billed(endMarked, turns);
  const first = sealed.providerSummary({ messages: span, instructions }, true, MINUTE)(text(150));
  const { output } = sealed.summaries.tokens;
  expect(sealed.summaries.tokens).toMatchObject({ cacheRead: 0, cacheWrite: sealed.size(span) - 2_000 });
  expect(first.tokens).toBe(output + 3 * sealed.tokensOf(turns[0]!));
  const summary: Message = {
    ...{ role: "compactionSummary", summary: text(5_000), tokensBefore: 9, timestamp: 0 },
    provider: first,
  };
  const second = sealed.providerSummary({ messages: [summary, user(3_000)] }, true, MINUTE)(text(150));
  expect(second.tokens).toBe(output + 4 * sealed.tokensOf(turns[0]!));
});

test("a server with marks reads a changed prefix only up to a mark", () => {
  const long = Array.from({ length: 20 }, () => [user(3_000), answer(100)]).flat();
  const changed = long.with(4, user(10));
  const readAfter = (rules: CacheRules, sent: readonly Message[]) =>
    billed(rules, long).request(sent, answer(1), MINUTE).cacheRead;
  const sizes = billed(marked, long);
  expect(readAfter(unmarked, changed)).toBe(sizes.size(long.slice(0, 4)));
  expect(readAfter(endMarked, changed)).toBe(sizes.size(long.slice(0, 3)));
  expect(readAfter(marked, changed)).toBe(2_000);
  expect(readAfter(marked, long.with(-2, user(10)))).toBe(sizes.size(long.slice(0, 37)));
});

test("law: auto never costs more than text or cached, and every way pays for its whole request", () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 1, maxLength: 12 });
  const free = { ...unmarked, minimumTokens: 4_096 };
  fc.assert(
    fc.property(
      sizes,
      fc.constantFrom(marked, free),
      fc.nat(30_000),
      fc.nat(8),
      (all, rules, asText, minutes) => {
        const messages = all.flatMap((tokens) => [user(tokens), answer(10)]);
        const costs = ([undefined, "text", "cached"] as const).map((way) => {
          const bill = billed(rules, messages);
          const prompt = { system: "", user: text(asText) };
          bill.summary(asked({ prompt, ...(way && { way }) }), messages, minutes * MINUTE)(text(100));
          const { input, cacheRead, cacheWrite } = bill.summaries.tokens;
          const whole = input + cacheRead + cacheWrite;
          const isWhole = [
            bill.size(messages) + bill.size([user(500)]) - 2_000,
            bill.size([user(asText)]) - 2_000,
          ];
          expect(isWhole.some((tokens) => Math.abs(tokens - whole) <= 1)).toBe(true);
          return bill.summaries.usd;
        });
        const [auto, asTextUsd, cached] = costs;
        expect(auto).toBeLessThanOrEqual(Math.min(asTextUsd!, cached!) + 1e-9);
      },
    ),
    fewRuns(20),
  );
});

/** A day of reading, with a pause of a minute before each prompt. */
function day(): Recording {
  const messages = Array.from({ length: 26 }, (_, turn): Message[] => {
    const call = {
      type: "toolCall" as const,
      id: `c${turn}`,
      name: "read",
      arguments: { path: `src/${turn}.ts` },
    };
    const timestamp = (turn + 1) * MINUTE;
    return [
      { role: "user", content: `Look at src/${turn}.ts.`, timestamp },
      { ...answer(1), content: [call], timestamp: timestamp + 1_000 } as Message,
      {
        ...{ role: "toolResult", toolCallId: call.id, toolName: "read", isError: false },
        ...{ content: [{ type: "text", text: `part ${turn} `.repeat(400) }], timestamp: timestamp + 2_000 },
      },
      {
        ...answer(1),
        content: [{ type: "text", text: `Part ${turn} is done.` }],
        timestamp: timestamp + 3_000,
      } as Message,
    ];
  }).flat();
  const recorded = { requests: 52, sentTokens: 0, cost: new CostSum(), highestTokens: 0, compactions: 0 };
  return { messages, model: "made/m", fixedTokens: 2_000, countRatio: 1, recorded };
}

const replayed = { recording: day(), prices, cacheRules: marked, windowTokens: 20_000 };
const policyOfKind = (kind: string) => policyNamed(`bonsai+background=false+summarizer.kind=${kind}`);

test("the setting decides how a day's summaries are billed", async () => {
  const provider = { unavailable: undefined, isSealed: false };
  const [auto, asText, cached, byProvider, digest] = await Promise.all(
    ["auto", "text", "cached", "provider", "digest"].map((kind) =>
      replay({ ...replayed, provider, settings: policyOfKind(kind).settings }),
    ),
  );
  const compactions = asText!.compactions.threshold!;
  expect(compactions).toBeGreaterThan(1);
  expect(asText!.summaries.tokens).toMatchObject({ cacheRead: 0, cacheWrite: 0 });
  expect(cached!.summaries.tokens.cacheRead).toBeGreaterThan(asText!.summaries.tokens.input);
  expect(auto!.summaries.usd).toBeLessThanOrEqual(Math.min(asText!.summaries.usd, cached!.summaries.usd));
  expect(cached!.context).toEqual(asText!.context);
  expect(byProvider!.summaries.requests).toBe(byProvider!.compactions.threshold);
  expect(byProvider!.waitedMs).toBe(byProvider!.summaries.requests * 25_000);
  expect(byProvider!.summaries.tokens.input).toBe(0);
  expect([digest!.summaries.requests, digest!.waitedMs]).toEqual([0, 0]);
});

test("without the provider's compaction, the next kind is billed, and the run says why", async () => {
  const unavailable = "The protocol openai-chat has no compaction by the provider.";
  const days = [{ ...replayed, provider: { unavailable, isSealed: false } }];
  const { name, settings } = policyOfKind("provider");
  const sealed = [{ ...replayed, provider: { unavailable: undefined, isSealed: true } }];
  const policies = [policyOfKind("auto"), { name, settings }, { name: "sealed", settings, days: sealed }];
  const run = await playPolicies({ days, policies });
  const [auto, refused, compacted] = run.policies;
  expect(refused).toEqual({ ...auto, policy: name, noProvider: [unavailable] });
  expect(compacted).toMatchObject({ noProvider: [], summaries: { tokens: { cacheRead: 0, cacheWrite: 0 } } });
  expect(runNotes(run)).toContainEqual(
    `The provider's compaction was not used under ${name}: ${unavailable}`,
  );
});
