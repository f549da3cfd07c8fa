import {
  type AssistantMessage,
  callsIn,
  type ImageContent,
  jsonText,
  type Message,
  messageText,
  type ToolCall,
  type ToolResultMessage,
  type UserContent,
} from "@bonsai-agent/messages";
import { MESSAGE_TYPES, userContent } from "@bonsai-agent/messages/host";
import type {
  ChatCompletionContentPart,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import { isOwnAnswer } from "../model.ts";
import type { Provider, ProviderCall } from "../provider.ts";
import { wireCallId, wireToolName } from "../wire/fields.ts";
import { ChatAnswer } from "./openai-chat-answer.ts";
import { chatThinking, type OpenAiServer, openAiServer } from "./openai-servers.ts";
import {
  type ConvertOptions,
  dataUrl,
  imagesOfResults,
  jsonObject,
  openAiStream,
  resultParts,
} from "./openai-wire.ts";
import { RefusedFields } from "./refused-fields.ts";

/** The provider of OpenAI's Chat Completions, for OpenAI and compatible servers. */
export function openaiChatProvider(): Provider {
  const fields = new RefusedFields();
  return {
    async *stream(call, answer) {
      const { model, signal } = call;
      let refusal: unknown;
      for (;;) {
        const attempt = { ...call, model: fields.withLearned(model) };
        const request = chatRequest(attempt);
        try {
          const reading = new ChatAnswer(answer);
          return yield* openAiStream({ call: attempt, path: "/chat/completions", request, reading });
        } catch (error) {
          if (answer.message.content.length > 0) throw fields.withAdvice(model, error);
          if (fields.learn(model, error)) continue;
          if (refusal === undefined && fields.tryOtherOrder(model, error, request.messages)) {
            refusal = error;
            continue;
          }
          if (refusal !== undefined) fields.keepOrder(model);
          throw fields.withAdvice(model, signal.aborted ? error : (refusal ?? error));
        }
      }
    },
  };
}

/** Makes a request to Chat Completions. Its prefix is stable from turn to turn, for the server's cache. */
export function chatRequest(call: ProviderCall): ChatCompletionCreateParamsStreaming {
  const { model, systemPrompt, messages, maxOutputTokens, cacheKey, thinking } = call;
  const server = openAiServer(model);
  const role = model.reasoning ? server.systemRole : "system";
  return {
    model: model.id,
    messages: [
      ...(systemPrompt === "" ? [] : [{ role, content: systemPrompt }]),
      ...chatMessages(messages, { model, server }),
    ],
    ...toolFields(call, server),
    [server.maxTokensField]: maxOutputTokens,
    stream: true,
    ...(server.takesStreamOptions && { stream_options: { include_usage: true } }),
    ...(server.takesCacheKey && cacheKey !== undefined && { prompt_cache_key: cacheKey }),
    // The SDK does not know the fields of all servers.
    ...(chatThinking(model, thinking) as object),
  };
}

function toolFields(
  { tools }: ProviderCall,
  server: OpenAiServer,
): Partial<ChatCompletionCreateParamsStreaming> {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ name, description, parameters }) => ({
      type: "function",
      function: { name, description, parameters: { ...parameters } },
    })),
    ...(server.asksForParallelCalls && { parallel_tool_calls: true }),
  };
}

/** Separates a user message from tool results, for servers that refuse it directly after them. */
const RESULTS_READ: ChatCompletionMessageParam = { role: "assistant", content: "I have read the results." };

/**
 * Converts a context without the system prompt. Successive user messages become one: the templates of many local models
 * refuse two. A server that refuses a user message after tool results gets a budget line in the last result, and an answer
 * before any other message.
 */
function chatMessages(messages: readonly Message[], options: ConvertOptions): ChatCompletionMessageParam[] {
  const wire: ChatCompletionMessageParam[] = [];
  let images: ImageContent[] = [];
  let parts: UserContent[] = [];
  const isStrict = !options.server.takesUserAfterResults;
  const flush = () => {
    const content = [...imagesOfResults(images), ...parts];
    if (content.length > 0) {
      if (isStrict && wire.at(-1)?.role === "tool") wire.push(RESULTS_READ);
      wire.push({ role: "user", content: wireContent(content) });
    }
    images = [];
    parts = [];
  };
  for (const message of messages) {
    if (message.role === "toolResult") {
      // User text and images wait: no other message may separate the results of one answer.
      wire.push(toolMessage(message, options));
      images.push(...resultParts(message).images);
    } else if (message.role === "assistant") {
      const answer = assistantMessage(message, options);
      if (answer === undefined) continue;
      flush();
      wire.push(answer);
    } else {
      const last = wire.at(-1);
      const isFirst = isStrict && last?.role === "tool" && images.length + parts.length === 0;
      if (isFirst && isBudgetLine(message)) last.content = `${last.content}\n\n${messageText(message)}`;
      else parts.push(...userContent(message));
    }
  }
  flush();
  return wire;
}

function isBudgetLine(message: Message): boolean {
  return message.role === "custom" && message.customType === MESSAGE_TYPES.budget;
}

/** Sends text without images as one string: some servers refuse parts. */
function wireContent(parts: readonly UserContent[]): string | ChatCompletionContentPart[] {
  if (parts.some(({ type }) => type === "image")) return parts.map(contentPart);
  return parts.map((block) => (block.type === "text" ? block.text : "")).join("\n\n");
}

function contentPart(block: UserContent): ChatCompletionContentPart {
  return block.type === "image"
    ? { type: "image_url", image_url: { url: dataUrl(block) } }
    : { type: "text", text: block.text };
}

function toolMessage(message: ToolResultMessage, { server }: ConvertOptions): ChatCompletionMessageParam {
  return {
    role: "tool",
    tool_call_id: wireCallId(message.toolCallId, server.callId),
    content: resultParts(message).text,
  };
}

function assistantMessage(
  message: AssistantMessage,
  options: ConvertOptions,
): ChatCompletionMessageParam | undefined {
  const text = message.content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  const calls = callsIn(message);
  if (text.length === 0 && calls.length === 0) return undefined;
  return {
    role: "assistant",
    content: text.length > 0 ? text.join("\n\n") : null,
    ...thinkingBackFields(message, options),
    ...(calls.length > 0 && { tool_calls: wireCalls(message, calls, options) }),
  };
}

/** Sends thinking back only if the server wants it. */
function thinkingBackFields(
  { content }: AssistantMessage,
  { model, server }: ConvertOptions,
): Record<string, unknown> {
  if (server.wantsThinking === undefined) return {};
  const own = content.filter((block) => block.type === "thinking");
  if (server.wantsThinking === "reasoning_details") {
    const signatures = own.map((block) => jsonObject(block.thinkingSignature)?.reasoning_details);
    const details = signatures.find((found) => found !== undefined);
    return details === undefined ? {} : { reasoning_details: details };
  }
  const thinking = own.map((block) => block.thinking).join("\n\n");
  const isThinker = model.reasoning || model.compat?.thinkingBack !== undefined;
  const text = thinking.trim() === "" && isThinker ? server.thinkingPlaceholder : thinking;
  return text ? { reasoning_content: text } : {};
}

function wireCalls(message: AssistantMessage, calls: readonly ToolCall[], { model, server }: ConvertOptions) {
  const isOwn = isOwnAnswer(message, model);
  const { foreignSignature } = server;
  const isSigned = isOwn && calls.some(({ thoughtSignature }) => thoughtSignature !== undefined);
  return calls.map((call, index) => {
    const foreign = !isSigned && index === 0 && foreignSignature?.models.test(model.id);
    const signature =
      isOwn && isSigned ? call.thoughtSignature : foreign ? foreignSignature?.signature : undefined;
    return {
      id: wireCallId(call.id, server.callId),
      type: "function" as const,
      function: { name: wireToolName(call.name), arguments: jsonText(call.arguments) || "{}" },
      ...(signature !== undefined && { extra_content: { google: { thought_signature: signature } } }),
    };
  });
}
