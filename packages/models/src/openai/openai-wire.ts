import {
  contentText,
  type ImageContent,
  isRecord,
  type ToolResultMessage,
  type UserContent,
} from "@bonsai-agent/messages";
import { FRAMES, jsonDepthProblem } from "@bonsai-agent/messages/host";
import { OpenAI } from "openai";
import { _iterSSEMessages as parse } from "openai/core/streaming";
import { type CatalogueModel, isAtHost } from "../model.ts";
import type { StreamEvent, TokenCounts } from "../model-request.ts";
import type { OpenAiClientSettings, ProviderCall } from "../provider.ts";
import { type WireRequest, wireStream, withoutCustomHeaders } from "../wire/stream.ts";
import type { OpenAiServer } from "./openai-servers.ts";

/** Runs one attempt of a request, in either protocol. Throws what an extension's `connect` throws. */
export function openAiStream(
  options: Pick<WireRequest, "call" | "path" | "request" | "reading">,
): AsyncIterable<StreamEvent> {
  const { call } = options;
  const { model, apiKey, connect } = call;
  return wireStream({
    ...options,
    client: (settings) => connect?.(settings, { model, apiKey }) ?? ownClient(call, settings),
    parse,
    isError: (event) => Boolean((event as { error?: unknown } | null)?.error),
    endsWithDone: true,
  });
}

function ownClient({ model, apiKey }: ProviderCall, settings: OpenAiClientSettings): OpenAI {
  const isOpenAi = isAtHost(model.baseUrl, "api.openai.com");
  return new OpenAI({
    ...settings,
    baseURL: model.baseUrl,
    // The SDK demands a key. Without one of ours, the header is removed.
    apiKey: apiKey ?? "none",
    adminAPIKey: null,
    // The environment's OpenAI account is no other server's business.
    ...(!isOpenAi && { organization: null, project: null }),
    defaultHeaders: {
      ...(!isOpenAi && withoutCustomHeaders(process.env.OPENAI_CUSTOM_HEADERS)),
      ...(apiKey === undefined && { Authorization: null }),
      ...model.headers,
    },
  });
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

export interface ConvertOptions {
  model: CatalogueModel;
  server: OpenAiServer;
}

export function resultParts({ content }: ToolResultMessage): { text: string; images: ImageContent[] } {
  const images = content.filter((block) => block.type === "image");
  return { text: contentText(content) || "(an image)", images };
}

/** Images of tool results, for an API that accepts only text there. */
export function imagesOfResults(images: readonly ImageContent[]): UserContent[] {
  if (images.length === 0) return [];
  const { begin, end } = FRAMES.resultImages(images.length);
  return [{ type: "text", text: begin }, ...images, { type: "text", text: end }];
}

export function dataUrl({ mimeType, data }: ImageContent): string {
  return `data:${mimeType};base64,${data}`;
}

/** The JSON object in one of Bonsai's signatures; undefined for other signatures. */
export function jsonObject(text: string | undefined): Record<string, unknown> | undefined {
  if (!text?.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return jsonDepthProblem(value) === undefined ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
