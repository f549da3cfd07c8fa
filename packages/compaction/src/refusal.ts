import { byScriptEstimator, type ContextTokens, type Message } from "@bonsai-agent/messages";
import type { ModelSizes } from "./budget.ts";

/** What the provider told when it refused a request as too long. */
export interface Refusal {
  /** Its own count of the request; absent where it told none. */
  inputTokens?: number | undefined;
}

/** A window that nobody knows is smaller than what was just refused. */
export function sizesAfterRefusal(
  model: ModelSizes,
  { inputTokens }: Refusal,
  { tokens }: ContextTokens,
): ModelSizes {
  return model.contextWindow ? model : { ...model, contextWindow: inputTokens ?? tokens };
}

/**
 * A provider that refused the request knows better than any count: the context is above the window. Without its count,
 * the best of ours is taken, whatever the settings say of how to count.
 */
export function refusedTokens(of: {
  messages: readonly Message[];
  windowTokens: number | undefined;
  refusal: Refusal;
  reading: ContextTokens;
}): number {
  const { messages, windowTokens = 0, refusal, reading } = of;
  const counted = () => messages.reduce((sum, message) => sum + byScriptEstimator.message(message), 0);
  return Math.max(reading.tokens, refusal.inputTokens ?? counted(), windowTokens + 1);
}

/** A rule that leaves less than this part of the window is no measure of what fits. */
const LEAST_SHARE = 0.5;
/** Where neither count nor usage explains the refusal, the window may be smaller than believed: half may be too much. */
const UNEXPLAINED_SHARE = 0.5;
const UNKNOWN_WINDOW_SHARE = 0.25;

/** What must fit at the retry, for there is only one: by the threshold's limit, less where nobody knows how much is too much. */
export function limitAfterRefusal(of: {
  /** As the threshold's rule has it. */
  limitTokens: number;
  windowTokens: number;
  isWindowKnown: boolean;
  refusal: Refusal;
  reading: ContextTokens;
}): number {
  const { limitTokens, windowTokens, isWindowKnown, refusal, reading } = of;
  const limit = Math.max(limitTokens, Math.floor(windowTokens * LEAST_SHARE));
  // A count that fits is none: who stops at a full window counts no further.
  if ((refusal.inputTokens ?? 0) > windowTokens) return limit;
  if (!isWindowKnown) return Math.min(Math.floor(limit * UNKNOWN_WINDOW_SHARE), knownToFit(reading));
  const isExplained = reading.source === "usage" && reading.tokens > windowTokens;
  return isExplained ? limit : Math.floor(limit * UNEXPLAINED_SHARE);
}

/** No model that can work with tools has a smaller window. */
const LEAST_WINDOW_TOKENS = 4_000;

/** What the latest answer was given to was taken. */
function knownToFit({ source, tokens, trailingTokens }: ContextTokens): number {
  if (source === "estimate") return Number.POSITIVE_INFINITY;
  return Math.max(tokens - trailingTokens, LEAST_WINDOW_TOKENS);
}
