import type { TokenCounts } from "../counted-tokens.ts";

type Counts = Readonly<Record<string, unknown>>;

/** A usage in the words of either protocol and of the servers that have their own for what was cached. */
export function openAiUsage(usage: unknown): TokenCounts | undefined {
  if (!isCounts(usage)) return undefined;
  const prompt = first(usage.prompt_tokens, usage.input_tokens) ?? 0;
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
    output: Math.max(output, (first(usage.total_tokens) ?? 0) - prompt),
    cacheRead,
    cacheWrite,
    ...(reasoning !== undefined && { reasoning }),
  };
}

/** The first that is told; NaN for what is no count, which makes the usage one that cannot be. */
function first(...values: readonly unknown[]): number | undefined {
  const told = values.find((value) => value !== undefined && value !== null);
  if (told === undefined) return undefined;
  return typeof told === "number" && told >= 0 ? told : Number.NaN;
}

function counts(value: unknown): Counts {
  return isCounts(value) ? value : {};
}

function isCounts(value: unknown): value is Counts {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
