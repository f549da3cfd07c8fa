import type { ModelPrices } from "@bonsai-agent/messages";

/** What asking for a summary would take, either way. The answer costs the same. */
export interface SummaryWays {
  /** US dollars per million tokens. */
  prices: ModelPrices | undefined;
  /** Undefined or 0 where unknown. */
  windowTokens: number | undefined;
  /** Of the cached prefix: what the provider has of it. */
  cachedTokens: number;
  /** What a request that goes on from the prefix would hold beyond it. */
  newTokens: number;
  /** The request with the conversation as text. */
  serialisedTokens: number;
  /** The cap of the answer. */
  maxSummaryTokens: number;
}

/**
 * The way that costs less; as text where that is not certain: without prices, with a price of nothing for what is read
 * from a cache, in a window that is unknown or too small.
 */
export function cheaperWay(ways: SummaryWays): "cachedPrefix" | "serialised" {
  const { prices, windowTokens, cachedTokens, newTokens, serialisedTokens, maxSummaryTokens } = ways;
  if (prices === undefined || prices.cacheRead <= 0 || cachedTokens <= 0) return "serialised";
  if (!windowTokens || cachedTokens + newTokens + maxSummaryTokens > windowTokens) return "serialised";
  // What is new may be written to the cache, which costs more than reading it.
  const newPrice = Math.max(prices.input, prices.cacheWrite);
  const prefixCost = cachedTokens * prices.cacheRead + newTokens * newPrice;
  return prefixCost < serialisedTokens * prices.input ? "cachedPrefix" : "serialised";
}
