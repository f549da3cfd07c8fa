import {
  isGoodAnswer,
  type Message,
  type Model,
  promptTokens,
  usualCacheRules,
} from "@bonsai-agent/messages";
import { manifestOf } from "../carry/details.ts";
import type { CompactionSettings } from "../settings.ts";
import { startsTurn, unseenFrom } from "./cut.ts";
import { type Budgets, thresholdTokens } from "./limits.ts";
import type { ContextReading } from "./tokens.ts";
import { type Pace, type WorkingSize, workingSize } from "./working-size.ts";

/** What a model costs, and what its provider keeps. */
export type ModelRates = Pick<Model, "usdPerMillionTokens" | "cacheRules">;

/** What the limit of a context is found from. */
export interface ContextLimitOptions {
  settings: CompactionSettings;
  model: ModelRates;
  budgets: Budgets;
  reading: ContextReading;
  /** False where the digest summarises. Default true. */
  isModelAsked?: boolean | undefined;
  /** Milliseconds since the epoch; without it, the cache counts as kept. */
  nowMs?: number | undefined;
}

/** At which size a context is compacted by itself. */
export interface ContextLimit {
  /** By the threshold's rule. */
  thresholdTokens: number;
  /** One token more calls for compaction: the threshold, or what `compaction.economy` makes of it. */
  limitTokens: number;
  /** True where the limit is lower just now, for the provider has forgotten the prefix, which has to be paid anew anyway. */
  isExpired: boolean;
  /** What is known of the costs; absent with the economy off, without prices, and where the prefix costs nothing. */
  size?: WorkingSize;
}

/** The limit by the settings, for the context as it is; undefined for an unknown window. */
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

/** What a working size is expected to save. */
export interface DailySaving {
  /** US dollars of a day; below 0 where the size costs more than the threshold. */
  usd: number;
  /** What was asked within 24 hours up to the latest answer. */
  requests: number;
}

const DAY_MS = 24 * 60 * 60_000;

/** What the limit saves against the threshold in a day such as the latest; undefined where no costs are known. */
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

/** So many of the latest requests tell how the session grows. */
const LATEST_REQUESTS = 100;
/** What is usual, and for how many requests that counts until the session has shown its own. */
const USUAL = { growthTokens: 1_000, pauses: 0.02, requests: 10 };

/** Learned from the usage of the answers in view, and the times between them. */
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
    const grown = promptTokens(answer.usage) - promptTokens(before.usage);
    // Where it is smaller, something was compacted, masked or taken back in between.
    if (grown >= 0) {
      total.growthTokens += grown;
      total.grown += 1;
    }
    if (answer.timestamp - before.timestamp > keptMs) total.pauses += 1;
    total.requests += 1;
  });
  return { growthTokens: total.growthTokens / total.grown, pauses: total.pauses / total.requests };
}

/** What models write where the cap allows it. */
const SUMMARY_TOKENS = 1_500;
/** Of the budget for the user's words, most sessions take so much. */
const WORDS_SHARE = 0.5;
/** Between two compactions lie at least so many requests. */
const LEAST_REQUESTS = 5;
/** The turn at work is kept whole, up to so many times what is kept else. */
const TURN_SHARES = 2;

/** The sizes below which a compaction would take what the task needs, or would come again at once. */
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
    floorTokens: Math.ceil(least + LEAST_REQUESTS * growthTokens),
  };
}

/** What the turn at work has so far; beyond its share only what the model has not answered yet. */
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

/** True where the latest answer is older than what a provider keeps; false where there is none, or nobody knows the time. */
function hasExpired(messages: readonly Message[], keptMs: number, nowMs: number | undefined): boolean {
  const latest = messages.findLast((message) => message.role === "assistant");
  return nowMs !== undefined && latest !== undefined && nowMs - latest.timestamp > keptMs;
}
