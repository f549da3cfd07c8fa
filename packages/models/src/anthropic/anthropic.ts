import { Anthropic } from "@anthropic-ai/sdk";
import { Stream } from "@anthropic-ai/sdk/core/streaming";
import type { BetaCompactionConfig } from "@anthropic-ai/sdk/resources/beta/messages";
import type {
  CacheControlEphemeral,
  MessageCreateParamsStreaming,
  TextBlockParam,
  Tool,
} from "@anthropic-ai/sdk/resources/messages";
import { isRecord } from "@bonsai-agent/messages";
import { isAtHost } from "../model.ts";
import type { OpenAiClientSettings, Provider, ProviderCall } from "../provider.ts";
import { isOneOff } from "../wire/breakpoints.ts";
import { wireStream, withoutCustomHeaders } from "../wire/stream.ts";
import { anthropicContext, type WireMessage } from "./anthropic-context.ts";
import { AnthropicStream } from "./anthropic-stream.ts";
import { anthropicThinking } from "./anthropic-thinking.ts";

/** The provider of the Anthropic Messages API, for Anthropic and compatible servers. */
export function anthropicProvider(): Provider {
  return {
    stream: (call, answer) => {
      const request = anthropicRequest(call);
      const isBeta = usesCompaction(request);
      return wireStream({
        call,
        path: isBeta ? "/v1/messages?beta=true" : "/v1/messages",
        request,
        reading: new AnthropicStream(answer, { isCompaction: call.compaction !== undefined }),
        client: (settings) => sdkClient(isBeta ? withBeta(call) : call, settings),
        parse: Stream.rawEvents,
        isError,
        endsWithDone: false,
      });
    },
  };
}

/** The beta of compaction on demand. Each request with one of its blocks needs it too. */
const COMPACTION_BETA = "compact-2026-09-04";

function usesCompaction({ compaction, messages }: AnthropicRequest): boolean {
  return compaction !== undefined || messages[0]?.content[0]?.type === "compaction";
}

/** Adds the beta to those of the model's own headers. */
function withBeta(call: ProviderCall): ProviderCall {
  const { headers = {} } = call.model;
  const [name = "anthropic-beta", own] =
    Object.entries(headers).find(([header]) => header.toLowerCase() === "anthropic-beta") ?? [];
  const betas = own === undefined ? COMPACTION_BETA : `${own},${COMPACTION_BETA}`;
  return { ...call, model: { ...call.model, headers: { ...headers, [name]: betas } } };
}

/** Other servers send an error without a type, as an object or as a sentence. */
function isError(event: unknown): boolean {
  if (!isRecord(event)) return false;
  const { type, error, message, detail } = event;
  return type === "error" || (typeof type !== "string" && Boolean(error ?? message ?? detail));
}

const ANTHROPIC_HOST = "api.anthropic.com";

/** Makes a client for one request. It uses nothing from the environment, and does not retry, log or trace. */
function sdkClient({ model, apiKey }: ProviderCall, settings: OpenAiClientSettings): Anthropic {
  return new Anthropic({
    ...settings,
    // `new URL` refuses an empty address, for which the SDK uses Anthropic's.
    baseURL: new URL(model.baseUrl).href.replace(/(?<!\/)\/+$/, "").replace(/\/v1$/, ""),
    // Without a key, the SDK searches the environment and files for the user's own.
    apiKey: apiKey ?? "",
    webhookKey: null,
    openTelemetry: false,
    defaultHeaders: {
      ...withoutCustomHeaders(process.env.ANTHROPIC_CUSTOM_HEADERS),
      ...authorization(model.baseUrl, apiKey),
      ...model.headers,
    },
  });
}

/** The SDK sends the key to Anthropic as a bearer token. Other servers expect `x-api-key`. */
function authorization(baseUrl: string, apiKey: string | undefined): Record<string, string | null> {
  if (!apiKey) return { authorization: null };
  return isAtHost(baseUrl, ANTHROPIC_HOST) ? {} : { "x-api-key": apiKey };
}

const breakpoint: CacheControlEphemeral = { type: "ephemeral" };

/**
 * The API allows four breakpoints: one is after the stable part, one after a compaction's summary, and two are in the
 * latest messages. The API looks back over 20 blocks: after more blocks, only the earlier one of these finds the
 * previous request's prefix. Without a summary, the tools have one: an extension can change the system prompt.
 */
const USER_BREAKPOINTS = 2;

/** The body of a request. The fields of compaction are those of its beta. */
type AnthropicRequest = Omit<MessageCreateParamsStreaming, "messages"> & {
  messages: readonly WireMessage[];
  compaction?: BetaCompactionConfig;
};

/** Makes the request. Pure. */
export function anthropicRequest(call: ProviderCall): AnthropicRequest {
  const { model, systemPrompt, tools, maxOutputTokens, thinking: level } = call;
  const messages = anthropicContext(call.messages);
  const isCached = !isOneOff(call);
  const summary = summaryEnd(call, messages);
  const system = systemBlocks(systemPrompt, isCached);
  return {
    model: model.id,
    max_tokens: maxOutputTokens,
    stream: true,
    ...(system.length > 0 && { system }),
    ...(tools.length > 0 && {
      tools: wireTools(call, isCached && (system.length === 0 || summary === undefined)),
    }),
    ...anthropicThinking({
      model,
      level,
      maxOutputTokens,
      isTurnWithoutThinking: isTurnWithoutThinking(messages),
    }),
    messages: isCached ? withBreakpoints(messages, summary) : messages,
    ...(call.compaction && { compaction: compactionField(call.compaction) }),
  };
}

function compactionField({
  instructions = "",
}: NonNullable<ProviderCall["compaction"]>): BetaCompactionConfig {
  return { type: "summarize", ...(instructions.trim() !== "" && { instructions }) };
}

/**
 * True for the results of a turn whose first answer has no thinking: it comes from another model, or its thinking was bound
 * to an earlier context.
 */
function isTurnWithoutThinking(messages: readonly WireMessage[]): boolean {
  if (!hasResults(messages.at(-1))) return false;
  const request = messages.findLastIndex((message) => message.role === "user" && !hasResults(message));
  const type = messages.slice(request + 1).find(({ role }) => role === "assistant")?.content[0]?.type;
  return type !== "thinking" && type !== "redacted_thinking";
}

function hasResults(message: WireMessage | undefined): boolean {
  return message?.content[0]?.type === "tool_result";
}

function systemBlocks(text: string, isCached: boolean): TextBlockParam[] {
  if (text.trim() === "") return [];
  return [{ type: "text", text, ...(isCached && { cache_control: breakpoint }) }];
}

function wireTools({ model, tools }: ProviderCall, isCached: boolean): Tool[] {
  const isEager = isAtHost(model.baseUrl, ANTHROPIC_HOST);
  return tools.map(({ name, description, parameters }, index) => ({
    name,
    description,
    input_schema: { ...parameters, type: "object" },
    // Without it, a long argument arrives in one piece after minutes of silence. Other servers may refuse it.
    ...(isEager && { eager_input_streaming: true }),
    ...(isCached && index === tools.length - 1 && { cache_control: breakpoint }),
  }));
}

/** The end of a compaction's summary. A provider's own summary stays byte for byte, and the carried data follow it. */
function summaryEnd(
  { messages: [first] }: ProviderCall,
  messages: readonly WireMessage[],
): WireMessage["content"][number] | undefined {
  if (first?.role !== "compactionSummary") return undefined;
  // The kept messages may be joined with it.
  return messages.find(({ role }) => role === "user")?.content[0];
}

/** Sets a breakpoint on the end of the summary, and on the last block of each of the last user-role messages. */
function withBreakpoints(
  messages: readonly WireMessage[],
  summary: WireMessage["content"][number] | undefined,
): WireMessage[] {
  let left = USER_BREAKPOINTS;
  return messages
    .toReversed()
    .map((message) => {
      const isLate = message.role === "user" && left > 0;
      if (isLate) left -= 1;
      const last = isLate ? message.content.at(-1) : undefined;
      if (last === undefined && !message.content.some((block) => block === summary)) return message;
      const content = message.content.map((block) =>
        block === last || block === summary ? { ...block, cache_control: breakpoint } : block,
      );
      return { role: message.role, content } as WireMessage;
    })
    .toReversed();
}
