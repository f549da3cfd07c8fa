import {
  type CacheRules,
  inputTokens,
  type Message,
  type Model,
  type ModelPrices,
  usualCacheRules,
} from "@bonsai-agent/messages";
import { isGoodAnswer } from "@bonsai-agent/messages/host";
import { manifestOf } from "../details.ts";
import type { CompactionSettings } from "../settings.ts";
import type { ContextReading } from "./context.ts";
import { startsTurn, unseenFrom } from "./cut.ts";

/** Input for the limit of a context. */
export interface EconomicLimitOptions {
  settings: CompactionSettings;
  model: Pick<Model, "usdPerMillionTokens" | "cacheRules">;
  budgets: { keepTokens: number; windowTokens: number | undefined };
  reading: ContextReading;
  /** By the threshold's rule. */
  thresholdTokens: number;
  /** False if the digest summarises. Default: true. */
  isModelAsked?: boolean | undefined;
  /** Milliseconds since the epoch. Default: the cache counts as kept. */
  nowMs?: number | undefined;
}

/** The size above which a compaction saves money. */
export interface EconomicLimit {
  /** One token more needs a compaction. At most the threshold. */
  compactAboveTokens: number;
  /** True if the limit is lower because the cache has expired: the prefix has to be paid again anyway. */
  isExpired: boolean;
  /** The costs. Absent without prices, and for a free prefix. */
  size?: WorkingSize;
}

/** The limit by `compaction.economy` for the context as it is. */
export function economicLimit(options: EconomicLimitOptions): EconomicLimit {
  const { settings, model, reading, nowMs, thresholdTokens, isModelAsked = true } = options;
  const { usdPerMillionTokens: prices, cacheRules = usualCacheRules } = model;
  const messages = reading.projection.items.map(({ message }) => message);
  const pace = paceOf(messages, cacheRules.keptMs);
  const needs = needsOf(options, pace);
  const wantedTokens = typeof settings.economy === "number" ? settings.economy : undefined;
  const sizes = { ...needs, ...pace, cacheRules, thresholdTokens, isModelAsked, wantedTokens };
  const size = prices && workingSize({ ...sizes, prices });
  const wanted = size?.tokens ?? wantedTokens ?? thresholdTokens;
  const compactAboveTokens = Math.min(thresholdTokens, Math.max(needs.floorTokens, wanted));
  const isExpired = size !== undefined && hasExpired(messages, cacheRules.keptMs, nowMs);
  return {
    compactAboveTokens: isExpired ? size.expiredTokens : compactAboveTokens,
    isExpired: isExpired && size.expiredTokens < compactAboveTokens,
    ...(size && { size }),
  };
}

/** Number of latest requests that show how the session grows. */
const LATEST_REQUESTS = 100;
/** Usual values; they count as this many requests of the session. */
const USUAL = { growthTokens: 1_000, pauses: 0.02, requests: 10 };

/** Learns the pace from the usage of the answers in view, and from the times between them. */
function paceOf(messages: readonly Message[], keptMs: number): Pace {
  const answers = messages.filter(isGoodAnswer).slice(-LATEST_REQUESTS - 1);
  const pairs = answers.slice(1).map((answer, at) => ({ answer, before: answers[at]! }));
  const pauses = pairs.filter(({ answer, before }) => answer.timestamp - before.timestamp > keptMs);
  // A smaller request follows a compaction, a mask or an undo.
  const growths = pairs
    .map(({ answer, before }) => inputTokens(answer.usage) - inputTokens(before.usage))
    .filter((tokens) => tokens >= 0);
  const mean = (usual: number, sum: number, count: number) =>
    (usual * USUAL.requests + sum) / (USUAL.requests + count);
  return {
    growthTokens: mean(
      USUAL.growthTokens,
      growths.reduce((sum, tokens) => sum + tokens, 0),
      growths.length,
    ),
    pauses: mean(USUAL.pauses, pauses.length, pairs.length),
  };
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
  { settings, budgets, reading }: EconomicLimitOptions,
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

/** Growth and pauses of a session, from its requests. */
interface Pace {
  /** Growth of the context from one request to the next. */
  growthTokens: number;
  /** The share of requests, 0 to 1, that came after the cache had expired. */
  pauses: number;
}

/** Input for the working size. Sizes are those of whole requests, system prompt and tools included. */
export interface WorkingSizeOptions extends Pace {
  /** US dollars per million tokens. */
  prices: ModelPrices;
  cacheRules: CacheRules;
  thresholdTokens: number;
  /** Minimum size for the task: the kept messages and room for some requests. The threshold has priority. */
  floorTokens: number;
  /** System prompt and tools, which stay in the cache after a compaction. */
  fixedTokens: number;
  /** Size right after a compaction: fixed part, summary, and kept messages. */
  baseTokens: number;
  /** True if a model summarises. The digest is free. */
  isModelAsked: boolean;
  /** A chosen size instead of the cheapest one. */
  wantedTokens?: number | undefined;
}

/**
 * The sizes above which a compaction saves money.
 * Invariant: each size is at most the threshold, and at least the floor or the threshold, whichever is lower.
 */
export interface WorkingSize {
  /** One token more needs a compaction. */
  tokens: number;
  /** The same after the cache has expired and the next request pays for its whole prefix. At most `tokens`. */
  expiredTokens: number;
  /**
   * Expected cost of this many requests of a new session with a limit, in US dollars. Leaves out costs that are the
   * same for every limit.
   */
  usdOver(requests: number, limitTokens: number): number;
}

/** Output of a summary request. */
const ANSWER_TOKENS = 2_000;
/** Tokens of a summary request beside the conversation. */
const INSTRUCTION_TOKENS = 1_000;
/** Tokens of the conversation as text, as a share of those in the context: long results are cut. */
const TEXT_SHARE = 0.6;
/** Tokens of the call with which the model reads a removed result again. */
const CALL_TOKENS = 300;
/** Minimum share of a cycle before an expired cache is a reason to compact. */
const MIN_CYCLE_SHARE = 0.5;
const MILLION = 1_000_000;

/**
 * Returns the working size with the lowest cost per request. Undefined if the prefix is free.
 *
 * Let r be the price of a token read from the cache, w of a token written to it, p the share of requests that find the
 * cache expired, g the growth per request, B the size right after a compaction, and B + D the size that needs one.
 *
 * - A request of x tokens pays e x for its prefix, with e = (1 - p) r + p w. Its g new tokens are written at any size.
 * - A compaction follows D / g requests and costs a + b D. The next request writes its prefix again, except system
 *   prompt and tools. The summary answers the cached prefix or the conversation as text, whichever costs less. One more
 *   request reads removed content again.
 *
 * A request thus costs f(D) = e (B + D / 2) + g (a / D + b), with its minimum at D = sqrt(2 g a / e): the square-root
 * rule for stock orders. Dear compactions and fast growth raise the size; a dear prefix lowers it.
 *
 * After the cache has expired, the next request writes its whole prefix. A context of B + y instead of B then costs
 * h(y) = ((f(D) - e B) y - e y^2 / 2) / g more, up to and including the next compaction: h(D) = a + b D. A compaction
 * now saves w y + h(y), at the cost of one without a cache. `expiredTokens` is the size from which this pays, at least
 * half a cycle above B: a smaller saving is not worth the content that a compaction loses.
 */
export function workingSize(options: WorkingSizeOptions): WorkingSize | undefined {
  const { thresholdTokens, floorTokens, baseTokens, growthTokens, fixedTokens: fromTokens } = options;
  const rates = ratesOf(options);
  if (rates.prefix <= 0) return undefined;
  const way = cheapestWay(warmWays(options, rates), rates);
  const within = (tokens: number) => Math.floor(Math.min(thresholdTokens, Math.max(floorTokens, tokens)));
  const tokens = within(options.wantedTokens ?? baseTokens + bestCycle(way, rates));
  const cycle = Math.max(growthTokens, tokens - baseTokens);
  const expired = baseTokens + expiredCycle(cycle, { way, expiredWay: expiredWay(options, rates), rates });
  return {
    tokens,
    expiredTokens: Math.min(tokens, within(expired)),
    usdOver: (requests, limitTokens) => costOver({ requests, limitTokens, fromTokens }, way, rates) / MILLION,
  };
}

/** US dollars per million tokens. */
interface Rates {
  input: number;
  output: number;
  read: number;
  write: number;
  /** Mean price of a prefix token: e. */
  prefix: number;
  baseTokens: number;
  growthTokens: number;
}

/** A cache price of 0 means that the model has no separate one. */
function ratesOf({ prices, pauses, baseTokens, growthTokens }: WorkingSizeOptions): Rates {
  const { input, output } = prices;
  const read = prices.cacheRead || input;
  const write = prices.cacheWrite || input;
  const prefix = (1 - pauses) * read + pauses * write;
  return { input, output, read, write, prefix, baseTokens, growthTokens: Math.max(1, growthTokens) };
}

/** The cost of a compaction: a + b D. */
interface Way {
  a: number;
  b: number;
}

function warmWays(options: WorkingSizeOptions, rates: Rates): Way[] {
  const { fixedTokens, baseTokens, cacheRules } = options;
  const { read, write, output } = rates;
  const stays = fixedTokens < cacheRules.minimumTokens ? 0 : fixedTokens;
  const always = (write - read) * Math.max(0, baseTokens - stays) + lookedAtAgain(rates);
  if (!options.isModelAsked) return [{ a: always, b: 0 }];
  const text = textWay(rates);
  const a = read * baseTokens + write * INSTRUCTION_TOKENS + output * ANSWER_TOKENS;
  return [
    { a: always + text.a, b: text.b },
    { a: always + a, b: read },
  ];
}

/** The cost of a compaction without a cache: the prefix is written again in any case, and it cannot be read. */
function expiredWay({ isModelAsked }: WorkingSizeOptions, rates: Rates): Way {
  const again = lookedAtAgain(rates);
  const text = textWay(rates);
  return isModelAsked ? { a: again + text.a, b: text.b } : { a: again, b: 0 };
}

function textWay({ input, output }: Rates): Way {
  return { a: input * INSTRUCTION_TOKENS + output * ANSWER_TOKENS, b: input * TEXT_SHARE };
}

function lookedAtAgain({ prefix, write, output, baseTokens, growthTokens }: Rates): number {
  return prefix * baseTokens + write * growthTokens + output * CALL_TOKENS;
}

function cheapestWay(ways: readonly Way[], rates: Rates): Way {
  const costs = ways.map((way) => requestCost(bestCycle(way, rates), way, rates));
  return ways[costs.indexOf(Math.min(...costs))]!;
}

function bestCycle({ a }: Way, { prefix, growthTokens }: Rates): number {
  return Math.sqrt((2 * growthTokens * a) / prefix);
}

/** f(D) */
function requestCost(cycle: number, { a, b }: Way, { prefix, baseTokens, growthTokens }: Rates): number {
  return prefix * (baseTokens + cycle / 2) + growthTokens * (a / cycle + b);
}

/**
 * Adds the requests up to the limit as they grow, and all later ones at the average cost: the requests after a
 * compaction share its cost, and some of them may come another day. Each added token also pays b for the next
 * compaction. Otherwise a request just below the limit would seem cheaper than one above it.
 */
function costOver(
  { requests, limitTokens, fromTokens }: { requests: number; limitTokens: number; fromTokens: number },
  way: Way,
  rates: Rates,
): number {
  const { prefix, baseTokens, growthTokens } = rates;
  const growing = Math.min(requests, Math.max(0, (limitTokens - fromTokens) / growthTokens));
  const grown = growing * (prefix * (fromTokens + (growing * growthTokens) / 2) + growthTokens * way.b);
  const cycle = Math.max(growthTokens, limitTokens - baseTokens);
  return grown + (requests - growing) * requestCost(cycle, way, rates);
}

/**
 * The smallest y with w y + h(y) = a + b y, with a and b of a compaction without a cache. Returns D if none is smaller,
 * and never less than half a cycle.
 */
function expiredCycle(
  cycle: number,
  { way, expiredWay: { a, b }, rates }: { way: Way; expiredWay: Way; rates: Rates },
): number {
  const { prefix, write, baseTokens, growthTokens } = rates;
  const quadratic = prefix / (2 * growthTokens);
  const linear = write + (requestCost(cycle, way, rates) - prefix * baseTokens) / growthTokens - b;
  const root = linear ** 2 - 4 * quadratic * a;
  if (linear <= 0 || root < 0) return cycle;
  const pays = (2 * a) / (linear + Math.sqrt(root));
  return Math.min(cycle, Math.max(pays, cycle * MIN_CYCLE_SHARE));
}
