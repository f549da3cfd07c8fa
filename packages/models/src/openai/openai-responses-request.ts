import { createHash } from "node:crypto";
import type { ResponseCreateParamsStreaming } from "openai/resources/responses/responses";
import type { ProviderCall } from "../provider.ts";
import { effortOf } from "./openai-effort.ts";
import { responsesInput } from "./openai-responses-input.ts";
import { type OpenAiServer, openAiServer } from "./openai-servers.ts";

/** Less is refused. */
const MIN_OUTPUT_TOKENS = 16;
/** A longer `prompt_cache_key` is refused. */
const MAX_CACHE_KEY_CHARS = 64;

/**
 * A request to the Responses API, of which the server stores nothing. Its beginning is the same from turn to turn
 * (instructions, tools in the order given, messages), so that the server finds what it has cached.
 */
export function responsesRequest(call: ProviderCall): ResponseCreateParamsStreaming {
  const { model, systemPrompt, tools, messages, maxOutputTokens, cacheKey } = call;
  const server = openAiServer(model);
  return {
    model: model.id,
    ...(systemPrompt !== "" && { instructions: systemPrompt }),
    input: responsesInput(messages, { model, server }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: "function" as const,
        name,
        description,
        parameters: { ...parameters },
        // The default is strict, and few tools' schemas are of the strict kind.
        strict: false,
      })),
    }),
    max_output_tokens: Math.max(maxOutputTokens, MIN_OUTPUT_TOKENS),
    stream: true,
    store: false,
    ...(cacheKey !== undefined && { prompt_cache_key: shortKey(cacheKey) }),
    ...thinkingFields(call, server),
  };
}

/** Models that cannot think refuse to be asked for encrypted thinking. */
function thinkingFields(
  { model, thinking }: ProviderCall,
  server: OpenAiServer,
): Partial<ResponseCreateParamsStreaming> {
  if (!model.reasoning) return {};
  const effort =
    effortOf(server.efforts, model.id, thinking) ?? (thinking === "off" ? undefined : fallback(thinking));
  const include = { include: ["reasoning.encrypted_content" as const] };
  if (effort === undefined) return include;
  if (effort === "none") return { ...include, reasoning: { effort } };
  return { ...include, reasoning: { effort: effort === "default" ? "medium" : effort, summary: "auto" } };
}

/** What every thinking model takes. */
function fallback(thinking: Exclude<ProviderCall["thinking"], "off">): "low" | "medium" | "high" {
  if (thinking === "minimal") return "low";
  return thinking === "xhigh" ? "high" : thinking;
}

function shortKey(cacheKey: string): string {
  return cacheKey.length <= MAX_CACHE_KEY_CHARS
    ? cacheKey
    : createHash("sha256").update(cacheKey).digest("hex");
}
