import { isRecord } from "@bonsai-agent/messages";
import type { AnswerBuilder } from "../answer-builder.ts";
import type { TokenCounts } from "../model-request.ts";
import { ProviderError } from "../provider.ts";

/**
 * Ends an answer without a reason. It is complete if the server declared it done.
 * @throws ProviderError "cut" otherwise
 */
export function finishWithoutReason(answer: AnswerBuilder, isDone: boolean): void {
  const { content } = answer.message;
  if (!isDone || content.length === 0) {
    const where = content.length === 0 ? "began" : "was complete";
    throw new ProviderError({ kind: "cut", message: `The stream ended before the answer ${where}.` });
  }
  answer.stop(content.some(({ type }) => type === "toolCall") ? "toolUse" : "stop");
}

/** Reads a usage of either protocol. Servers use several names for cached tokens. */
export function openAiUsage(usage: unknown): TokenCounts | undefined {
  if (!isRecord(usage)) return undefined;
  const reported = first(usage.prompt_tokens, usage.input_tokens);
  const prompt = reported ?? 0;
  const output = first(usage.completion_tokens, usage.output_tokens) ?? 0;
  const inDetail = record(usage.prompt_tokens_details ?? usage.input_tokens_details);
  const outDetail = record(usage.completion_tokens_details ?? usage.output_tokens_details);
  const cached = first(inDetail.cached_tokens, usage.prompt_cache_hit_tokens, usage.cached_tokens) ?? 0;
  const cacheRead = Math.min(cached, prompt);
  const written = first(inDetail.cache_write_tokens, inDetail.cache_creation_tokens) ?? 0;
  const cacheWrite = Math.min(written, prompt - cacheRead);
  const reasoning = first(outDetail.reasoning_tokens, usage.reasoning_tokens);
  return {
    input: prompt - cacheRead - cacheWrite,
    // On some servers (xAI, Gemini), only the total contains the thinking.
    output: Math.max(output, reported ? (first(usage.total_tokens) ?? 0) - prompt : 0),
    cacheRead,
    cacheWrite,
    ...(reasoning !== undefined && { reasoning }),
  };
}

/** The first value; NaN if it is no count, which makes the whole usage impossible. */
function first(...values: readonly unknown[]): number | undefined {
  const count = values.find((value) => value !== undefined && value !== null);
  if (count === undefined) return undefined;
  return typeof count === "number" && count >= 0 ? count : Number.NaN;
}

function record(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}
