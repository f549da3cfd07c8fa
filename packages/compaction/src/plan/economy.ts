import { inputTokens, type Message, type Model, usualCacheRules } from "@bonsai-agent/messages";
import { isGoodAnswer } from "@bonsai-agent/messages/host";
import { manifestOf } from "../details.ts";
import type { CompactionSettings } from "../settings.ts";
import { startsTurn, unseenFrom } from "./cut.ts";
import { type Budgets, thresholdTokens } from "./limits.ts";
import type { ContextReading } from "./tokens.ts";
import { type Pace, type WorkingSize, workingSize } from "./working-size.ts";

/** Prices and cache rules of a model. */
export type ModelRates = Pick<Model, "usdPerMillionTokens" | "cacheRules">;

/** Input for the limit of a context. */
export interface ContextLimitOptions {
  settings: CompactionSettings;
  model: ModelRates;
  budgets: Budgets;
  reading: ContextReading;
  /** False if the digest summarises. Default: true. */
  isModelAsked?: boolean | undefined;
  /** Milliseconds since the epoch. Default: the cache counts as kept. */
  nowMs?: number | undefined;
}

/** The size at which a context is compacted automatically. */
export interface ContextLimit {
  /** By the threshold's rule. */
  thresholdTokens: number;
  /** One token more needs a compaction: the threshold, or a lower limit by `compaction.economy`. */
  limitTokens: number;
  /** True if the limit is lower because the cache has expired: the prefix has to be paid again anyway. */
  isExpired: boolean;
  /** The costs. Absent with the economy off, without prices, and for a free prefix. */
  size?: WorkingSize;
}

/** The limit for the context as it is; undefined for an unknown window. */
export function contextLimit(options: ContextLimitOptions): ContextLimit | undefined {
  const { settings, budgets } = options;
  const threshold = thresholdTokens(settings, budgets);
  if (threshold === undefined) return undefined;
  const atThreshold = { thresholdTokens: threshold, limitTokens: threshold, isExpired: false };
  return settings.economy === "off" ? atThreshold : economicLimit(options, threshold);
}

function economicLimit(options: ContextLimitOptions, threshold: number): ContextLimit {
  const { settings, model, reading, nowMs } = options;
  const { usdPerMillionTokens: prices, cacheRules = usualCacheRules } = model;
  const messages = reading.projection.items.map(({ message }) => message);
  const pace = paceOf(messages, cacheRules.keptMs);
  const needs = needsOf(options, pace);
  const { economy } = settings;
  const size =
    prices &&
    workingSize({
      ...needs,
      ...pace,
      prices,
      cacheRules,
      thresholdTokens: threshold,
      isModelAsked: options.isModelAsked ?? true,
      ...(typeof economy === "number" && { wantedTokens: economy }),
    });
  const wanted = size?.tokens ?? (typeof economy === "number" ? economy : threshold);
  const limitTokens = Math.min(threshold, Math.max(needs.floorTokens, wanted));
  const isExpired = size !== undefined && hasExpired(messages, cacheRules.keptMs, nowMs);
  return {
    thresholdTokens: threshold,
    limitTokens: isExpired ? size.expiredTokens : limitTokens,
    isExpired: isExpired && size.expiredTokens < limitTokens,
    ...(size && { size }),
  };
}

/** The expected saving of a working size. */
export interface DailySaving {
  /** US dollars of a day; negative if the size costs more than the threshold. */
  usd: number;
  /** Requests in the 24 hours up to the latest answer. */
  requests: number;
}

const DAY_MS = 24 * 60 * 60_000;

/** The saving of the limit against the threshold in a day like the latest; undefined for unknown costs. */
export function dailySaving(
  { size, thresholdTokens }: ContextLimit,
  messages: readonly Message[],
): DailySaving | undefined {
  if (size === undefined) return undefined;
  const times = messages.filter(isGoodAnswer).map(({ timestamp }) => timestamp);
  const latest = times.at(-1) ?? 0;
  const requests = times.filter((atMs) => latest - atMs < DAY_MS && atMs <= latest).length;
  return { requests, usd: size.usdOver(requests, thresholdTokens) - size.usdOver(requests, size.tokens) };
}

/** Number of latest requests that show how the session grows. */
const LATEST_REQUESTS = 100;
/** Usual values; they count as this many requests of the session. */
const USUAL = { growthTokens: 1_000, pauses: 0.02, requests: 10 };

/** Learns the pace from the usage of the answers in view, and from the times between them. */
function paceOf(messages: readonly Message[], keptMs: number): Pace {
  const answers = messages.filter(isGoodAnswer).slice(-LATEST_REQUESTS - 1);
  const total = {
    growthTokens: USUAL.growthTokens * USUAL.requests,
    grown: USUAL.requests,
    pauses: USUAL.pauses * USUAL.requests,
    requests: USUAL.requests,
  };
  answers.slice(1).forEach((answer, at) => {
    const before = answers[at]!;
    const grown = inputTokens(answer.usage) - inputTokens(before.usage);
    // A smaller request follows a compaction, a mask or an undo.
    if (grown >= 0) {
      total.growthTokens += grown;
      total.grown += 1;
    }
    if (answer.timestamp - before.timestamp > keptMs) total.pauses += 1;
    total.requests += 1;
  });
  return { growthTokens: total.growthTokens / total.grown, pauses: total.pauses / total.requests };
}

/** Usual length of a model's summary. */
const SUMMARY_TOKENS = 1_500;
/** Share of the budget for the user's words that most sessions use. */
const WORDS_SHARE = 0.5;
/** Minimum number of requests between two compactions. */
const MIN_REQUESTS = 5;
/** The current turn is kept whole up to this many times the kept tokens. */
const TURN_SHARES = 2;

/** Minimum sizes: below them, a compaction would remove needed messages or be repeated at once. */
function needsOf(
  { settings, budgets, reading }: ContextLimitOptions,
  { growthTokens }: Pace,
): { fixedTokens: number; baseTokens: number; floorTokens: number } {
  const { keepTokens, windowTokens = Number.POSITIVE_INFINITY } = budgets;
  const { words, terms } = settings;
  const wordsTokens = Math.min(words.maxTokens, windowTokens / 10) * WORDS_SHARE;
  const fixedTokens = Math.max(0, reading.overheadTokens());
  const besideKept = fixedTokens + SUMMARY_TOKENS + wordsTokens + terms.maxTokens;
  const formerTokens = Number(manifestOf(reading.projection.compaction)?.tokensAfter) || 0;
  const least = Math.max(besideKept + Math.max(keepTokens, atWorkTokens(reading, keepTokens)), formerTokens);
  return {
    fixedTokens,
    baseTokens: besideKept + keepTokens,
    floorTokens: Math.ceil(least + MIN_REQUESTS * growthTokens),
  };
}

/** Tokens of the current turn; beyond its share, only unanswered messages count. */
function atWorkTokens({ projection: { items }, estimator }: ContextReading, keepTokens: number): number {
  const messages = items.map(({ message }) => message);
  const unseen = unseenFrom(messages);
  const from = Math.min(unseen, Math.max(0, messages.findLastIndex(startsTurn)));
  let tokens = 0;
  for (let at = messages.length - 1; at >= from; at -= 1) {
    if (at < unseen && tokens > keepTokens * TURN_SHARES) break;
    tokens += estimator.message(messages[at]!);
  }
  return tokens;
}

/** True if the latest answer is older than the provider's cache; false without an answer or a time. */
function hasExpired(messages: readonly Message[], keptMs: number, nowMs: number | undefined): boolean {
  const latest = messages.findLast((message) => message.role === "assistant");
  return nowMs !== undefined && latest !== undefined && nowMs - latest.timestamp > keptMs;
}
