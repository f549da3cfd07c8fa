import { isRecord } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "../answer-builder.ts";
import type { TokenCounts } from "../model-request.ts";
import { ProviderError } from "../provider.ts";

/**
 * For a stream that ended without a word on why: an answer that the server itself declared done is taken as complete.
 * Throws ProviderError "cut" for any other.
 */
export function finishWithoutReason(answer: AnswerBuilder, isDone: boolean): void {
  const { content } = answer.message;
  if (!isDone || content.length === 0) {
    const where = content.length === 0 ? "began" : "was complete";
    throw new ProviderError({ kind: "cut", message: `The stream ended before the answer ${where}.` });
  }
  answer.stop(content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop");
}

type Counts = Readonly<Record<string, unknown>>;

/** A usage in the words of either protocol and of the servers that have their own for what was cached. */
export function openAiUsage(usage: unknown): TokenCounts | undefined {
  if (!isCounts(usage)) return undefined;
  const reported = first(usage.prompt_tokens, usage.input_tokens);
  const prompt = reported ?? 0;
  const output = first(usage.completion_tokens, usage.output_tokens) ?? 0;
  const inDetail = counts(usage.prompt_tokens_details ?? usage.input_tokens_details);
  const outDetail = counts(usage.completion_tokens_details ?? usage.output_tokens_details);
  const cached = first(inDetail.cached_tokens, usage.prompt_cache_hit_tokens, usage.cached_tokens) ?? 0;
  const cacheRead = Math.min(cached, prompt);
  const written = first(inDetail.cache_write_tokens, inDetail.cache_creation_tokens) ?? 0;
  const cacheWrite = Math.min(written, prompt - cacheRead);
  const reasoning = first(outDetail.reasoning_tokens, usage.reasoning_tokens);
  return {
    input: prompt - cacheRead - cacheWrite,
    // Some servers (xAI, Gemini) leave thinking out of the output, and only the total has it.
    output: Math.max(output, reported ? (first(usage.total_tokens) ?? 0) - prompt : 0),
    cacheRead,
    cacheWrite,
    ...(reasoning !== undefined && { reasoning }),
  };
}

/** The first that is there; NaN for what is no count, which makes the usage one that cannot be. */
function first(...values: readonly unknown[]): number | undefined {
  const count = values.find((value) => value !== undefined && value !== null);
  if (count === undefined) return undefined;
  return typeof count === "number" && count >= 0 ? count : Number.NaN;
}

function counts(value: unknown): Counts {
  return isCounts(value) ? value : {};
}

function isCounts(value: unknown): value is Counts {
  return isRecord(value);
}
