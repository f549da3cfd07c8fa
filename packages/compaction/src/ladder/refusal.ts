import { byScriptEstimator, UNSEEN_TOKENS } from "@bonsai-agent/messages";
import type { Budgets, ModelSizes } from "../plan/budget.ts";
import { MAX_COUNT_ERROR, MAX_ESTIMATE_ERROR } from "../plan/recorded-calibration.ts";
import type { ContextReading } from "../plan/tokens.ts";

/** A provider's refusal of a request as too long, with the numbers that it reported. */
export interface Refusal {
  /** Its own count of the request; absent where it gave none. */
  inputTokens?: number | undefined;
}

/** No model that can work with tools has a smaller window. */
const MIN_WINDOW_TOKENS = 4_000;

/** A refusal without a count that usage and estimates rule out. Servers also name swapped, capped and invented numbers. */
export function believedRefusal({ inputTokens }: Refusal, reading: ContextReading): Refusal {
  const { least, most } = countBounds(reading);
  const isBelieved = inputTokens !== undefined && inputTokens >= least && inputTokens <= most;
  return isBelieved ? { inputTokens } : {};
}

function countBounds(reading: ContextReading): { least: number; most: number } {
  const { source, tokens, trailingTokens, usageIndex = -1 } = reading;
  const least = tokens / MAX_ESTIMATE_ERROR;
  // Learned ratios do not raise the bound: two wrong counts could otherwise raise each other.
  const estimated = estimatedTokens(reading, usageIndex + 1) * MAX_ESTIMATE_ERROR;
  if (source === "estimate") return { least, most: Math.max(tokens, estimated + UNSEEN_TOKENS) };
  return { least, most: Math.max(tokens, (tokens - trailingTokens) * MAX_COUNT_ERROR + estimated) };
}

/** By script, whatever estimator the settings name. */
function estimatedTokens({ projection: { items } }: ContextReading, from: number): number {
  return items.slice(from).reduce((sum, { message }) => sum + byScriptEstimator.message(message), 0);
}

/** An unknown window is smaller than the refused request. */
export function sizesAfterRefusal(
  model: ModelSizes,
  { inputTokens }: Refusal,
  { tokens }: ContextReading,
): ModelSizes {
  return model.contextWindow ? model : { ...model, contextWindow: inputTokens ?? tokens };
}

/**
 * The size of a refused context. Without a believable count it is above the window: the best estimate, whatever the
 * estimator. A size by usage stays: then it is the window that is smaller than believed.
 */
export function refusedTokens({ inputTokens }: Refusal, reading: ContextReading, windowTokens = 0): number {
  const { tokens, source } = reading;
  if (inputTokens !== undefined && inputTokens > windowTokens) return Math.max(tokens, inputTokens);
  if (source === "usage") return tokens;
  return Math.max(tokens, inputTokens ?? estimatedTokens(reading, 0), windowTokens + 1);
}

/** A rule that leaves less than this part of the window is no measure of what fits. */
const MIN_SHARE = 0.5;
/** Neither count nor usage explains the refusal: the window may be smaller than believed, and half may be too much. */
const UNEXPLAINED_SHARE = 0.5;
const UNKNOWN_WINDOW_SHARE = 0.25;
/** An answered request leaves room for the next answer at this part of its size. */
const ACCEPTED_SHARE = 0.8;

/**
 * The most tokens for the retry, for there is only one: the threshold's limit, less where nobody knows how much is too
 * much. Undefined for an unknown window.
 */
export function limitAfterRefusal(of: {
  /** By the threshold's rule. */
  thresholdTokens: number | undefined;
  budgets: Budgets;
  model: ModelSizes;
  refusal: Refusal;
  reading: ContextReading;
}): number | undefined {
  const { model, refusal, reading } = of;
  const { windowTokens } = of.budgets;
  if (of.thresholdTokens === undefined || windowTokens === undefined) return undefined;
  const limit = Math.max(of.thresholdTokens, Math.floor(windowTokens * MIN_SHARE));
  // A count within the window explains nothing: some servers stop counting at a full window.
  if ((refusal.inputTokens ?? 0) > windowTokens) return limit;
  if (reading.source === "estimate") {
    const share = model.contextWindow ? UNEXPLAINED_SHARE : UNKNOWN_WINDOW_SHARE;
    return Math.floor(limit * share);
  }
  const acceptedTokens = reading.tokens - reading.trailingTokens;
  if (!model.contextWindow)
    return Math.min(Math.floor(limit * UNKNOWN_WINDOW_SHARE), Math.max(acceptedTokens, MIN_WINDOW_TOKENS));
  if (reading.tokens > windowTokens) return limit;
  // The server took the latest answered request, whatever its window.
  const knownTokens = Math.max(acceptedTokens * ACCEPTED_SHARE, reading.tokens * UNEXPLAINED_SHARE);
  return Math.min(limit, Math.floor(knownTokens));
}
