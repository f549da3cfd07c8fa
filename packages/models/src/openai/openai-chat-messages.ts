import {
  type AssistantMessage,
  type ImageContent,
  jsonText,
  type Message,
  type ThinkingContent,
  type ToolCall,
  type ToolResultMessage,
  type UserContent,
} from "@bonsai-agent/messages";
import type {
  ChatCompletionContentPart,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import { isOwnAnswer } from "../own-answer.ts";
import { wireToolName } from "../wire-tool-name.ts";
import { wireCallId } from "./openai-call-id.ts";
import {
  answerBlocks,
  type ConvertOptions,
  dataUrl,
  imagesOfResults,
  resultParts,
  saidByUser,
  signedObject,
} from "./openai-content.ts";

/**
 * A context as Chat Completions takes it, without the system prompt. What the user said in a row becomes one message:
 * the templates of many local models refuse two.
 */
export function chatMessages(
  messages: readonly Message[],
  options: ConvertOptions,
): ChatCompletionMessageParam[] {
  const wire: ChatCompletionMessageParam[] = [];
  let images: ImageContent[] = [];
  let said: UserContent[] = [];
  const flush = () => {
    const content = [...imagesOfResults(images), ...said];
    if (content.length > 0) wire.push({ role: "user", content: userContent(content) });
    images = [];
    said = [];
  };
  for (const message of messages) {
    if (message.role === "toolResult") {
      // What was said meanwhile waits, as images do: nothing may stand between the results of one answer.
      wire.push(toolMessage(message, options));
      images.push(...resultParts(message).images);
    } else if (message.role === "assistant") {
      const answer = assistantMessage(message, options);
      if (answer === undefined) continue;
      flush();
      wire.push(answer);
    } else said.push(...saidByUser(message));
  }
  flush();
  return wire;
}

/** Text alone is sent as one string: not every server takes parts. */
function userContent(said: readonly UserContent[]): string | ChatCompletionContentPart[] {
  if (said.some(({ type }) => type === "image")) return said.map(contentPart);
  return said.map((block) => (block.type === "text" ? block.text : "")).join("\n\n");
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
  const blocks = answerBlocks(message);
  const text = blocks.map((block) => (block.type === "text" ? block.text : "")).filter((part) => part !== "");
  const calls = blocks.filter((block) => block.type === "toolCall");
  if (text.length === 0 && calls.length === 0) return undefined;
  return {
    role: "assistant",
    content: text.length > 0 ? text.join("\n\n") : null,
    ...thinkingFields(message, options),
    ...(calls.length > 0 && { tool_calls: wireCalls(message, calls, options) }),
  };
}

/** Thinking goes back to the model that had it, and only where its server asks for it. */
function thinkingFields(
  message: AssistantMessage,
  { model, server }: ConvertOptions,
): Record<string, unknown> {
  if (server.wantsThinking === undefined) return {};
  const own = isOwnAnswer(message, model)
    ? answerBlocks(message).filter((block) => block.type === "thinking")
    : [];
  if (server.wantsThinking === "reasoning_details") {
    const details = own.map(reasoningDetails).find((found) => found !== undefined);
    return details === undefined ? {} : { reasoning_details: details };
  }
  const thinking = own.map((block) => block.thinking ?? "").join("\n\n");
  const text = thinking.trim() === "" && model.reasoning ? server.thinkingPlaceholder : thinking;
  return text ? { reasoning_content: text } : {};
}

function reasoningDetails(block: ThinkingContent): unknown {
  return signedObject(block)?.reasoning_details;
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
