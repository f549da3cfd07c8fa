import type { CacheRules, ModelPrices } from "@bonsai-agent/messages";

/** Growth and pauses of a session, from its requests. */
export interface Pace {
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
  /** The threshold. */
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
 * The size above which a compaction costs less than none.
 * Invariant: neither size is above the threshold, and none is below the floor where that is not above the threshold.
 */
export interface WorkingSize {
  /** One token more needs a compaction. */
  tokens: number;
  /** The same once the cache has expired, when the next request pays for all of its prefix: at most `tokens`. */
  expiredTokens: number;
  /**
   * Expected cost of this many requests of a new session with a limit, in US dollars, without costs that are the same
   * for every limit.
   */
  usdOver(requests: number, limitTokens: number): number;
}

/** Usual length of a summary. */
const SUMMARY_TOKENS = 2_000;
/** Tokens of a summary request beside the conversation. */
const INSTRUCTION_TOKENS = 1_000;
/** Tokens of the conversation as text, as a share of those in the context: long results are cut. */
const TEXT_SHARE = 0.6;
/** The call with which the model reads a removed result again. */
const CALL_TOKENS = 300;
/** Minimum share of a cycle before an expired cache is a reason to compact. */
const MIN_CYCLE_SHARE = 0.5;
const MILLION = 1_000_000;

/**
 * The working size that costs the least for each request. Undefined where the prefix costs nothing.
 *
 * Let r be the price of a token that is read from the cache, w that of one that is written to it, p the share of requests
 * that find it expired, g the growth from request to request, B the size right after a compaction, and B + D the size at
 * which one is made.
 *
 * - A request of x tokens pays e x for its prefix, with e = (1 - p) r + p w. Its g new tokens are written at any size.
 * - After D / g requests comes a compaction, for a + b D: the next request writes its prefix anew, from behind the system
 *   prompt and the tools on; the summary is an answer to the cached prefix or to the conversation as text, whichever costs
 *   less; and one request more looks again at what is gone.
 *
 * So a request costs f(D) = e (B + D / 2) + g (a / D + b), which is least at D = sqrt(2 g a / e): the square root by which
 * stores order stock. Compactions that are dear, and a fast growth, make the size larger; a dear prefix makes it smaller.
 *
 * Where the cache has expired, the next request writes its whole prefix. To be at B + y, and not at B, costs
 * h(y) = ((f(D) - e B) y - e y^2 / 2) / g more until the next compaction and with it: h(D) = a + b D. A compaction now
 * saves
 * w y + h(y), for what it costs without a cache. `expiredTokens` is where that begins to pay, and at least half of a cycle
 * from B: what little more could be saved is not worth what a compaction loses.
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

/** A price of nothing beside others says that there is none of its own. */
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
  const { read, write } = rates;
  const stays = fixedTokens < cacheRules.minimumTokens ? 0 : fixedTokens;
  const always = (write - read) * Math.max(0, baseTokens - stays) + lookedAtAgain(rates);
  if (!options.isModelAsked) return [{ a: always, b: 0 }];
  const text = textWay(rates);
  const a = read * baseTokens + write * INSTRUCTION_TOKENS + rates.output * SUMMARY_TOKENS;
  return [
    { a: always + text.a, b: text.b },
    { a: always + a, b: read },
  ];
}

/** The prefix would be written anew in any case, and it cannot be read. */
function expiredWay({ isModelAsked }: WorkingSizeOptions, rates: Rates): Way {
  const again = lookedAtAgain(rates);
  const text = textWay(rates);
  return isModelAsked ? { a: again + text.a, b: text.b } : { a: again, b: 0 };
}

function textWay({ input, output }: Rates): Way {
  return { a: input * INSTRUCTION_TOKENS + output * SUMMARY_TOKENS, b: input * TEXT_SHARE };
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
 * The requests up to the limit as they grow, all later ones as they are on average: what a compaction costs is shared by
 * the
 * requests that follow it, some of which may come another day. What a request adds makes the next compaction dearer by b a
 * token, also where that comes another day: without it, a request just below the limit would seem cheaper than one above
 * it.
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
 * The least y with w y + h(y) = a + b y, where a and b are those of a compaction without a cache; D where there is none
 * below.
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
