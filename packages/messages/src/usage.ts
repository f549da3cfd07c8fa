import { usdText } from "./text/screen-text.ts";

/** Tokens and cost of one request. `input` excludes cached tokens. */
export interface Usage {
  input: number;
  /** Includes thinking. */
  output: number;
  cacheRead: number;
  cacheWrite: number;
  /** The part of `cacheWrite` that is kept for an hour, if reported. */
  cacheWrite1h?: number | undefined;
  /** The part of `output` that is thinking, if reported. */
  reasoning?: number | undefined;
  /** Default: the sum of the four counts. */
  totalTokens?: number | undefined;
  /** True if the server counted nothing or only a part: the counts and the cost are lower bounds. */
  isUncounted?: true | undefined;
  /** US dollars, by kind of token. */
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
}

/** A usage of nothing. */
export function emptyUsage(): Usage {
  return {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  };
}

/** The tokens of the context after this answer: input, cached input and output. Total: missing counts are 0. */
export function contextTokens(usage: Usage): number {
  return count(usage?.totalTokens) || inputTokens(usage) + count(usage?.output);
}

/** The tokens of the request, cached or not, without the answer. Total, as `contextTokens`. */
export function inputTokens(usage: Usage): number {
  return count(usage?.input) + count(usage?.cacheRead) + count(usage?.cacheWrite);
}

/** The tokens of the answer. Total, as `contextTokens`. */
export function outputTokens(usage: Usage): number {
  return count(usage?.output);
}

/** Maximum plausible tokens of a request. The largest windows have ten million. */
const MAX_REQUEST_TOKENS = 1_000_000_000;

/** Maximum plausible ratio of counted to estimated tokens. Estimates err by a half, not by ten. */
const MAX_ESTIMATES = 10;

/**
 * False for a token count that the request cannot have. Without an estimate, only a count beyond all windows is impossible.
 * @param unseenTokens tokens beyond the estimate, such as a server's own instructions
 */
export function isPlausibleCount(
  tokens: number,
  estimatedTokens = Number.POSITIVE_INFINITY,
  unseenTokens = 0,
): boolean {
  return tokens <= MAX_REQUEST_TOKENS && tokens <= MAX_ESTIMATES * Math.max(estimatedTokens, unseenTokens);
}

/** The sum of two usages. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: count(a.input) + count(b.input),
    output: count(a.output) + count(b.output),
    cacheRead: count(a.cacheRead) + count(b.cacheRead),
    cacheWrite: count(a.cacheWrite) + count(b.cacheWrite),
    ...partSum("cacheWrite1h", a, b),
    ...partSum("reasoning", a, b),
    totalTokens: contextTokens(a) + contextTokens(b),
    ...((a.isUncounted || b.isUncounted) && { isUncounted: true as const }),
    cost: {
      input: count(a.cost?.input) + count(b.cost?.input),
      output: count(a.cost?.output) + count(b.cost?.output),
      cacheRead: count(a.cost?.cacheRead) + count(b.cost?.cacheRead),
      cacheWrite: count(a.cost?.cacheWrite) + count(b.cost?.cacheWrite),
      total: count(a.cost?.total) + count(b.cost?.total),
    },
  };
}

/** Reads a usage from other code. Missing and malformed counts are 0. Returns undefined if there is no count at all. */
export function reportedUsage(value: unknown): Usage | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const reported = value as Usage;
  const { input, output, cacheRead, cacheWrite, totalTokens: all } = reported;
  if (![input, output, cacheRead, cacheWrite, all].some(Number.isFinite)) return undefined;
  const { totalTokens, ...counted } = addUsage(emptyUsage(), reported);
  return all === undefined ? counted : { ...counted, totalTokens };
}

function partSum(part: "cacheWrite1h" | "reasoning", a: Usage, b: Usage): Partial<Usage> {
  const isKnown = a[part] !== undefined || b[part] !== undefined;
  return isKnown ? { [part]: count(a[part]) + count(b[part]) } : {};
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

/** The known cost of several requests. */
export interface KnownCost {
  /** US dollars of the requests whose cost is known. */
  usd: number;
  /**
   * `known`: all requests have a known cost. `atLeast`: some used tokens without a count or a price. `unknown`: all did.
   */
  certainty: "known" | "atLeast" | "unknown";
  /** True if only free models used tokens. Default false. */
  isFree?: boolean;
}

/** Rules of a provider's prompt cache. */
export interface CacheRules {
  /** Minimum tokens of a cached prefix. */
  minimumTokens: number;
  /** Time that a prefix is kept after its last use, in milliseconds. */
  keptMs: number;
  /** Lifetimes that a request can choose, the default first. Default: only `keptMs`. */
  lifetimes?: readonly CacheLifetime[] | undefined;
  /** Prefixes that a request can mark by itself. Default 0. */
  breakpoints?: number | undefined;
  /** Blocks before a mark in which the server searches for an earlier one. Default: all. */
  lookbackBlocks?: number | undefined;
  /** True if the server also marks the end of each request. Default true. */
  isAutomatic?: boolean | undefined;
}

/** A lifetime of cached prefixes and its price. */
export interface CacheLifetime {
  keptMs: number;
  /** Price of writing a token, as a multiple of an input token. Undefined if unknown. */
  writePriceFactor: number | undefined;
}

/** The rules of most providers: five minutes after the last use, and no prefix below 1,024 tokens. */
export const usualCacheRules: CacheRules = { minimumTokens: 1_024, keptMs: 5 * 60_000 };

/** True for a model with known prices that are all 0. */
export function isFreeModel({
  usdPerMillionTokens: prices,
}: {
  usdPerMillionTokens?: Readonly<Omit<Usage["cost"], "total">> | undefined;
}): boolean {
  return prices !== undefined && Object.values(prices).every((price) => price === 0);
}

/**
 * Adds up the cost of requests. A request's cost is known if it has a cost, used nothing, or its model is free. It is
 * unknown for tokens without a cost, and for requests that the server did not count.
 */
export class CostSum {
  #usd = 0;
  /** The models of requests that used tokens and have no cost or an incomplete cost. */
  readonly #unpriced = new Set<string | undefined>();

  /** @param model `provider/model`, if known */
  add(usage: Usage | undefined, model?: string): void {
    if (usage === undefined) return;
    const usd = count(usage.cost?.total);
    this.#usd += usd;
    if (usage.isUncounted === true || (usd === 0 && contextTokens(usage) > 0)) this.#unpriced.add(model);
  }

  /** Adds what another sum has. */
  addSum(sum: CostSum): void {
    this.#usd += sum.#usd;
    for (const model of sum.#unpriced) this.#unpriced.add(model);
  }

  /** @param isFree true for a `provider/model` that is known to be free. Default: none is. */
  cost(isFree: (model: string) => boolean = () => false): KnownCost {
    const unknown = [...this.#unpriced].filter((model) => model === undefined || !isFree(model));
    if (unknown.length === 0)
      return { usd: this.#usd, certainty: "known", isFree: this.#usd === 0 && this.#unpriced.size > 0 };
    return { usd: this.#usd, certainty: this.#usd > 0 ? "atLeast" : "unknown" };
  }
}

/** The cost as a number; null if a part is unknown. */
export function knownUsd({ usd, certainty }: KnownCost): number | null {
  return certainty === "known" ? usd : null;
}

/** The cost in words: `$1.20`, `at least $1.20`, `free of charge` or `unknown`. */
export function costText({ usd, certainty, isFree }: KnownCost): string {
  if (certainty === "unknown") return "unknown";
  if (isFree) return "free of charge";
  return certainty === "known" ? usdText(usd) : `at least ${usdText(usd)}`;
}

/** The cost as a part of a sentence: `cost unknown` instead of `unknown`. */
export function costPhrase(cost: KnownCost): string {
  return cost.certainty === "unknown" ? "cost unknown" : costText(cost);
}
