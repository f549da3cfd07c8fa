import { createHash } from "node:crypto";
import {
  type AssistantContent,
  type AssistantMessage,
  jsonText,
  type Message,
  type ToolResultMessage,
  type UserContent,
} from "@bonsai-agent/messages";
import { userContent } from "@bonsai-agent/messages/host";
import type {
  ResponseCompactParams,
  ResponseCreateParamsStreaming,
  ResponseFunctionCallOutputItemList,
  ResponseInputItem,
  ResponseInputMessageContentList,
} from "openai/resources/responses/responses";
import { isAtHost, isOwnAnswer } from "../model.ts";
import type { Provider, ProviderCall } from "../provider.ts";
import { hasProviderSummary, summaryParts } from "../provider-summary.ts";
import { isOneOff } from "../wire/breakpoints.ts";
import { wireCallId, wireToolName } from "../wire/fields.ts";
import { CompactedAnswer } from "./openai-compaction.ts";
import { ResponsesAnswer } from "./openai-responses-answer.ts";
import { openAiServer, responsesThinking } from "./openai-servers.ts";
import {
  type ConvertOptions,
  dataUrl,
  imagesOfResults,
  jsonObject,
  openAiStream,
  resultParts,
} from "./openai-wire.ts";

/** The provider of OpenAI's Responses API, for OpenAI and compatible servers. The server stores nothing. */
export function openaiResponsesProvider(): Provider {
  return {
    stream: (call, answer) =>
      call.compaction === undefined
        ? openAiStream({
            call,
            path: "/responses",
            request: responsesRequest(call),
            reading: new ResponsesAnswer(answer),
          })
        : openAiStream({
            call,
            path: "/responses/compact",
            request: compactRequest(call),
            reading: new CompactedAnswer(answer),
          }),
  };
}

/** Other servers may refuse breakpoints. */
const OPENAI_HOST = "api.openai.com";
const MIN_OUTPUT_TOKENS = 16;
const MAX_CACHE_KEY_CHARS = 64;

/** Makes a request to the Responses API. Its prefix is stable from turn to turn, for the server's cache. */
export function responsesRequest(call: ProviderCall): ResponseCreateParamsStreaming {
  const { model, systemPrompt, tools, messages, maxOutputTokens, cacheKey, thinking } = call;
  const server = openAiServer(model);
  // These models match a cached prefix only at a breakpoint. The server itself marks the latest message.
  const takesBreakpoints = isAtHost(model.baseUrl, OPENAI_HOST) && (model.cacheRules?.breakpoints ?? 0) > 0;
  const hasBreakpoints = takesBreakpoints && !isOneOff(call);
  const input = responsesInput(messages, { model, server, hasBreakpoints });
  return {
    model: model.id,
    ...(systemPrompt !== "" && !hasBreakpoints && { instructions: systemPrompt }),
    input:
      systemPrompt !== "" && hasBreakpoints
        ? [
            { role: "developer", content: withBreakpoint([{ type: "input_text", text: systemPrompt }]) },
            ...input,
          ]
        : input,
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: "function" as const,
        name,
        description,
        parameters: { ...parameters },
        // The default is strict, but few tools have strict schemas.
        strict: false,
      })),
    }),
    max_output_tokens: Math.max(maxOutputTokens, MIN_OUTPUT_TOKENS),
    stream: true,
    store: false,
    ...(cacheKey !== undefined && { prompt_cache_key: shortKey(cacheKey) }),
    ...responsesThinking(model, thinking),
  };
}

/** Makes a request for a compaction. The API takes neither tools nor a prompt of our own. */
export function compactRequest({ model, messages, cacheKey }: ProviderCall): ResponseCompactParams {
  return {
    model: model.id,
    input: responsesInput(messages, { model, server: openAiServer(model), isCompaction: true }),
    ...(cacheKey !== undefined && { prompt_cache_key: shortKey(cacheKey) }),
  };
}

function shortKey(cacheKey: string): string {
  return cacheKey.length <= MAX_CACHE_KEY_CHARS
    ? cacheKey
    : createHash("sha256").update(cacheKey).digest("hex");
}

/** Converts a context without the system prompt. */
function responsesInput(
  messages: readonly Message[],
  options: ConvertOptions & { hasBreakpoints?: boolean; isCompaction?: boolean },
): ResponseInputItem[] {
  const items: ResponseInputItem[] = [];
  let waiting: UserContent[] = [];
  const flush = () => {
    if (waiting.length > 0) items.push({ role: "user", content: inputContent(waiting) });
    waiting = [];
  };
  for (const given of messages) {
    const message = withItems(given, items);
    // The answer repeats every user message, so old carried data would stay for good. The new summary carries its own.
    if (options.isCompaction && message !== given) continue;
    if (message.role === "toolResult") {
      items.push(callOutput(message, options));
      if (!options.server.takesImagesInResults) waiting.push(...imagesOfResults(resultParts(message).images));
      continue;
    }
    const parts = userContent(message);
    if (message.role === "assistant" || parts.length > 0) flush();
    if (message.role === "assistant") items.push(...answerItems(message, options));
    const content = inputContent(parts);
    const isMarked = options.hasBreakpoints && message.role === "compactionSummary";
    if (parts.length > 0) items.push({ role: "user", content: isMarked ? withBreakpoint(content) : content });
  }
  flush();
  return items;
}

/** Adds the items of a provider's summary, which is first. Returns the rest of the message. */
function withItems(message: Message, items: ResponseInputItem[]): Message {
  if (!hasProviderSummary(message)) return message;
  const { items: own, carried } = summaryParts<ResponseInputItem>(message);
  items.push(...own);
  return carried;
}

/** Marks the end of a prefix that later requests begin with. */
function withBreakpoint(content: ResponseInputMessageContentList): ResponseInputMessageContentList {
  return content.map((part, at) =>
    at === content.length - 1 ? { ...part, prompt_cache_breakpoint: { mode: "explicit" } } : part,
  );
}

function inputContent(parts: readonly UserContent[]): ResponseInputMessageContentList {
  return parts.map((block) =>
    block.type === "image"
      ? { type: "input_image", image_url: dataUrl(block), detail: "auto" }
      : { type: "input_text", text: block.text },
  );
}

function callOutput(message: ToolResultMessage, { server }: ConvertOptions): ResponseInputItem {
  const { text, images } = resultParts(message);
  const parts: ResponseFunctionCallOutputItemList = [
    { type: "input_text", text },
    ...images.map((image) => ({
      type: "input_image" as const,
      image_url: dataUrl(image),
      detail: "auto" as const,
    })),
  ];
  return {
    type: "function_call_output",
    call_id: wireCallId(message.toolCallId, server.callId),
    output: images.length > 0 && server.takesImagesInResults ? parts : text,
  };
}

function answerItems(message: AssistantMessage, options: ConvertOptions): ResponseInputItem[] {
  const isOwn = isOwnAnswer(message, options.model);
  const items = message.content.flatMap((block) => answerItem(block, isOwn, options));
  // The API refuses thinking without a following item.
  return items.slice(0, items.findLastIndex(({ type }) => type !== "reasoning") + 1);
}

function answerItem(
  block: AssistantContent,
  isOwn: boolean,
  { server }: ConvertOptions,
): ResponseInputItem[] {
  switch (block.type) {
    case "text":
      return [{ role: "assistant", content: block.text, ...(isOwn && phaseOf(block.textSignature)) }];
    case "toolCall":
      // Without the item's own id: the server stores nothing under it.
      return [
        {
          type: "function_call",
          call_id: wireCallId(block.id, server.callId),
          name: wireToolName(block.name),
          arguments: jsonText(block.arguments) || "{}",
        },
      ];
    default: {
      const item = jsonObject(block.thinkingSignature);
      // Thinking that is not encrypted is an id of the server's store.
      return item?.type === "reasoning" && typeof item.encrypted_content === "string"
        ? [item as unknown as ResponseInputItem]
        : [];
    }
  }
}

/** Models answer worse if the phase of a text is lost. */
function phaseOf(textSignature: string | undefined): { phase?: "commentary" | "final_answer" } {
  const phase = jsonObject(textSignature)?.phase;
  return phase === "commentary" || phase === "final_answer" ? { phase } : {};
}
