import type { BetaCompactionBlockParam } from "@anthropic-ai/sdk/resources/beta/messages";
import type {
  ContentBlockParam,
  ImageBlockParam,
  TextBlockParam,
  ToolResultBlockParam,
} from "@anthropic-ai/sdk/resources/messages";
import type { AssistantContent, Message, ToolResultMessage, UserContent } from "@bonsai-agent/messages";
import { userContent } from "@bonsai-agent/messages/host";
import { hasProviderSummary, summaryParts } from "../provider-summary.ts";
import { type CallIds, wireCallId, wireToolName } from "../wire/fields.ts";

/** A message of a request. A breakpoint can be set on each block. */
export type WireMessage =
  | { role: "user"; content: UserBlock[] }
  | { role: "assistant"; content: AssistantBlock[] };

type AssistantBlock =
  | Extract<ContentBlockParam, { type: "text" | "thinking" | "redacted_thinking" | "tool_use" }>
  | BetaCompactionBlockParam;

/**
 * Converts a context for the Messages API: roles alternate, and results are first in their message. Pure and stable: the
 * blocks of a longer context begin with those of a shorter one.
 */
export function anthropicContext(messages: readonly Message[]): WireMessage[] {
  const wire: WireMessage[] = [];
  for (const message of messages.flatMap(wireMessages)) {
    const last = wire.at(-1);
    if (message.content.length === 0) continue;
    if (last?.role === message.role && !isCompaction(last))
      (last.content as unknown[]).push(...message.content);
    else wire.push(message);
  }
  return wire.map((message) => (message.role === "user" ? resultsFirst(message) : message));
}

/** A message of one block, which stays alone and unchanged. */
function isCompaction({ content }: WireMessage): boolean {
  return content[0]?.type === "compaction";
}

function wireMessages(message: Message): WireMessage[] {
  if (!hasProviderSummary(message)) return [wireMessage(message)];
  const { items, carried } = summaryParts<BetaCompactionBlockParam>(message);
  return [{ role: "assistant", content: [...items] }, wireMessage(carried)];
}

function wireMessage(message: Message): WireMessage {
  switch (message.role) {
    case "assistant":
      return { role: "assistant", content: message.content.flatMap(assistantBlock) };
    case "toolResult":
      return { role: "user", content: resultBlocks(message) };
    default:
      return { role: "user", content: userContent(message).map(userBlock) };
  }
}

function assistantBlock(block: AssistantContent): AssistantBlock[] {
  switch (block.type) {
    case "text":
      return [{ type: "text", text: block.text }];
    case "thinking": {
      const { thinking, thinkingSignature: signature, redacted } = block;
      if (!signature) return [];
      return redacted
        ? [{ type: "redacted_thinking", data: signature }]
        : [{ type: "thinking", thinking, signature }];
    }
    case "toolCall": {
      const { id, name, arguments: input } = block;
      return [{ type: "tool_use", id: wireCallId(id, anthropicCallIds), name: wireToolName(name), input }];
    }
  }
}

/** The API demands results before the user's other content. */
function resultsFirst({ role, content }: Extract<WireMessage, { role: "user" }>): WireMessage {
  const results = content.filter((block) => block.type === "tool_result");
  return { role, content: [...results, ...content.filter((block) => block.type !== "tool_result")] };
}

type UserBlock = TextBlockParam | ImageBlockParam | ToolResultBlockParam;

type ImageType = "image/jpeg" | "image/png" | "image/gif" | "image/webp";

const imageTypes: readonly string[] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

function userBlock(block: UserContent): TextBlockParam | ImageBlockParam {
  if (block.type === "text") return { type: "text", text: block.text };
  const { data, mimeType } = block;
  if (isImageType(mimeType)) return { type: "image", source: { type: "base64", media_type: mimeType, data } };
  return {
    type: "text",
    text: `[Image of type ${mimeType} omitted: this model accepts only JPEG, PNG, GIF and WebP]`,
  };
}

/** The images of a failed result follow it: the API accepts only text inside. */
function resultBlocks({ toolCallId, content, isError }: ToolResultMessage): UserBlock[] {
  const blocks = content.map(userBlock);
  const inside = blocks.filter(({ type }) => type === "text" || !isError);
  const result: ToolResultBlockParam = {
    type: "tool_result",
    tool_use_id: wireCallId(toolCallId, anthropicCallIds),
    ...(inside.length > 0 && { content: inside }),
    ...(isError && { is_error: true }),
  };
  return [result, ...blocks.filter((block) => !inside.includes(block))];
}

function isImageType(mimeType: string): mimeType is ImageType {
  return imageTypes.includes(mimeType);
}

export const anthropicCallIds: CallIds = { pattern: /^[a-zA-Z0-9_-]{1,128}$/, madeChars: 29 };
