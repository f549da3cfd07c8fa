import type { ModelFailure } from "./failure.ts";
import type { ProviderError } from "./provider.ts";

export interface ClassifyOptions {
  error: ProviderError;
  provider: string;
  modelId: string;
  /** Take a 429 without a body for an overflow. Default false. */
  bodyless429IsOverflow?: boolean;
}

/** Sorts a provider's refusal into one of six outcomes, with the numbers that it tells. */
export function classifyFailure({ error, provider, modelId }: ClassifyOptions): ModelFailure {
  const { message, status, code, retryAfterMs } = error;
  const retryable = error.kind !== "refused" || status === 429 || (status ?? 0) >= 500;
  const tooLong = /prompt is too long/.test(message);
  return {
    kind: tooLong ? "inputTooLong" : status === 429 ? "rateLimit" : "other",
    message,
    provider,
    modelId,
    status,
    code,
    retryable: retryable && !tooLong,
    retryAfterMs,
  };
}
