import {
  type AssistantMessage,
  byScriptEstimator,
  isPlausibleCount,
  MAX_REQUEST_TOKENS,
  type ModelPrices,
  type Usage,
  type UsageCost,
} from "@bonsai-agent/messages";

/** What a provider counted; `input` excludes what was read from or written to a cache. */
export type TokenCounts = Partial<Omit<Usage, "cost" | "totalTokens">>;

/** What is known of a request before it is answered. */
export interface RequestSize {
  /** Estimated: messages, system prompt and tools. */
  inputTokens: number;
  /** The cap that was sent. */
  maxOutputTokens: number;
}

/** A usage that cannot be, as the server told it. */
export interface IgnoredUsage {
  /** NaN where it told no number. */
  reportedTokens: number;
  /** Absent where the request's size is not known. */
  estimatedTokens: number | undefined;
}

/** A server may put instructions of its own, or the text of its tool use, before a request of a few words. */
const UNSEEN_INPUT_TOKENS = 2_000;
/** Some servers leave the thinking out of the cap. */
const CAPS = 2;

/**
 * Says what is wrong with a provider's counts; undefined where they can be true. Not whole, negative or beyond all
 * windows they never can; nor far above the estimate of the request, or above its cap and far above the answer.
 * @param answer as far as it came
 */
export function impossibleCounts(
  counts: TokenCounts,
  answer: AssistantMessage,
  request: RequestSize | undefined,
): IgnoredUsage | undefined {
  const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0, cacheWrite1h = 0, reasoning = 0 } = counts;
  const promptTokens = input + cacheRead + cacheWrite;
  const all = [input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning];
  const isWhole = all.every((count) => Number.isSafeInteger(count) && count >= 0);
  const largest = all.find((count) => count > MAX_REQUEST_TOKENS);
  const fits = (sent: RequestSize) =>
    isPlausibleCount(promptTokens, sent.inputTokens, UNSEEN_INPUT_TOKENS) &&
    (output <= sent.maxOutputTokens * CAPS || isPlausibleCount(output, byScriptEstimator.message(answer), 0));
  if (isWhole && largest === undefined && (request === undefined || fits(request))) return undefined;
  return {
    reportedTokens: isWhole ? (largest ?? promptTokens + output) : Number.NaN,
    estimatedTokens: request?.inputTokens,
  };
}

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
