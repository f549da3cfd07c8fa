import type { ModelPrices, Usage, UsageCost } from "@bonsai-agent/messages";

const TOKENS = 1_000_000;
/** What is kept for an hour costs twice the input price, not 1.25 times (Anthropic's price list). */
const HOUR_CACHE_FACTOR = 2;

/** What a usage cost in US dollars; without prices, nothing. */
export function usageCost(
  usage: Omit<Usage, "cost" | "totalTokens">,
  prices: ModelPrices | undefined,
): UsageCost {
  if (prices === undefined) return { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const hour = Math.min(usage.cacheWrite1h ?? 0, usage.cacheWrite);
  const input = (usage.input * prices.input) / TOKENS;
  const output = (usage.output * prices.output) / TOKENS;
  const cacheRead = (usage.cacheRead * prices.cacheRead) / TOKENS;
  const cacheWrite =
    ((usage.cacheWrite - hour) * prices.cacheWrite + hour * prices.input * HOUR_CACHE_FACTOR) / TOKENS;
  return { input, output, cacheRead, cacheWrite, total: input + output + cacheRead + cacheWrite };
}
