import { createHash } from "node:crypto";
import type {
  ContentBlockParam,
  ImageBlockParam,
  RedactedThinkingBlockParam,
  TextBlockParam,
  ThinkingBlockParam,
  ToolResultBlockParam,
  ToolUseBlockParam,
} from "@anthropic-ai/sdk/resources/messages";
import {
  type AssistantMessage,
  callsIn,
  contentBlocks,
  type Message,
  type ThinkingContent,
  type ToolResultMessage,
} from "@bonsai-agent/messages";
import { userContent } from "@bonsai-agent/messages/host";
import { type CatalogueModel, isOwnAnswer } from "../model.ts";
import { wireToolName } from "../wire/fields.ts";

/** A message of a request. A breakpoint can be set on each block. */
export type WireMessage =
  | { role: "user"; content: UserBlock[] }
  | { role: "assistant"; content: AssistantBlock[] };

type AssistantBlock = Extract<
  ContentBlockParam,
  { type: "text" | "thinking" | "redacted_thinking" | "tool_use" }
>;

/**
 * Converts a context for the Messages API: roles alternate, results are first in their message, and empty blocks are left
 * out. Pure and stable: the blocks of a longer context begin with those of a shorter one.
 */
export function anthropicContext(messages: readonly Message[], model: CatalogueModel): WireMessage[] {
  const wire: WireMessage[] = [];
  for (const message of messages) append(wire, wireMessage(message, model));
  return wire.map((message) => (message.role === "user" ? resultsFirst(message) : message));
}

function append(wire: WireMessage[], message: WireMessage | undefined): void {
  if (message === undefined || message.content.length === 0) return;
  const last = wire.at(-1);
  if (last?.role === "user" && message.role === "user") last.content.push(...message.content);
  else if (last?.role === "assistant" && message.role === "assistant") last.content.push(...message.content);
  else wire.push(message);
}

function wireMessage(message: Message, model: CatalogueModel): WireMessage | undefined {
  switch (message.role) {
    case "assistant":
      return { role: "assistant", content: assistantBlocks(message, model) };
    case "toolResult":
      return { role: "user", content: resultBlocks(message) };
    default:
      return { role: "user", content: userBlocks(userContent(message)) };
  }
}

function assistantBlocks(message: AssistantMessage, model: CatalogueModel): AssistantBlock[] {
  const calls = callsIn(message);
  let nextCall = 0;
  return contentBlocks(message.content).flatMap((block): AssistantBlock[] => {
    switch (block.type) {
      case "text":
        return textBlocks(block.text);
      case "thinking":
        return isOwnAnswer(message, model) ? thinkingBlocks(block as unknown as ThinkingContent) : [];
      case "toolCall":
        return toolUseBlocks(calls[nextCall++]);
      default:
        return [];
    }
  });
}

function thinkingBlocks(block: ThinkingContent): (ThinkingBlockParam | RedactedThinkingBlockParam)[] {
  const { thinking = "", thinkingSignature: signature, redacted } = block;
  if (!signature) return [];
  return redacted
    ? [{ type: "redacted_thinking", data: signature }]
    : [{ type: "thinking", thinking, signature }];
}

function toolUseBlocks(call: ReturnType<typeof callsIn>[number] | undefined): ToolUseBlockParam[] {
  if (call === undefined) return [];
  return [
    { type: "tool_use", id: anthropicCallId(call.id), name: wireToolName(call.name), input: call.arguments },
  ];
}

/** The API demands results before the user's other content. */
function resultsFirst({ role, content }: Extract<WireMessage, { role: "user" }>): WireMessage {
  const results = content.filter((block) => block.type === "tool_result");
  return { role, content: [...results, ...content.filter((block) => block.type !== "tool_result")] };
}

type UserBlock = TextBlockParam | ImageBlockParam | ToolResultBlockParam;

type ImageType = "image/jpeg" | "image/png" | "image/gif" | "image/webp";

const imageTypes: readonly string[] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** The API refuses blank texts. */
function textBlocks(text: unknown): TextBlockParam[] {
  return typeof text === "string" && text.trim() !== "" ? [{ type: "text", text }] : [];
}

function userBlocks(content: unknown): (TextBlockParam | ImageBlockParam)[] {
  return contentBlocks(content).flatMap((block) =>
    block.type === "image" ? imageBlocks(block) : block.type === "text" ? textBlocks(block.text) : [],
  );
}

/** The images of a failed result follow it: the API accepts only text inside. */
function resultBlocks({ toolCallId, content, isError }: ToolResultMessage): UserBlock[] {
  const blocks = userBlocks(content);
  const inside = isError ? blocks.filter((block) => block.type === "text") : blocks;
  const behind = isError ? blocks.filter((block) => block.type === "image") : [];
  const result: ToolResultBlockParam = {
    type: "tool_result",
    tool_use_id: anthropicCallId(toolCallId),
    ...(inside.length > 0 && { content: inside }),
    ...(isError && { is_error: true }),
  };
  return [result, ...behind];
}

function imageBlocks({ data, mimeType }: Record<string, unknown>): (TextBlockParam | ImageBlockParam)[] {
  if (typeof data !== "string" || data === "") return [];
  if (!isImageType(mimeType)) {
    return textBlocks(
      `[Image of type ${String(mimeType)} omitted: this model accepts only JPEG, PNG, GIF and WebP]`,
    );
  }
  return [{ type: "image", source: { type: "base64", media_type: mimeType, data } }];
}

function isImageType(mimeType: unknown): mimeType is ImageType {
  return typeof mimeType === "string" && imageTypes.includes(mimeType);
}

const allowed = /^[a-zA-Z0-9_-]{1,128}$/;
const KEPT_CHARS = 96;

/**
 * A tool call's id as the Messages API allows it. Ids of other providers (long ones, or with `|` and `:`) become
 * the same legal id each time, for the call and for its result.
 */
export function anthropicCallId(id: string): string {
  if (allowed.test(id)) return id;
  const readable = id.slice(0, KEPT_CHARS).replace(/[^a-zA-Z0-9_-]/g, "_");
  // Cut or replaced characters could make two ids equal: the hash keeps them apart.
  return `${readable}_${createHash("sha256").update(id).digest("hex").slice(0, 16)}`;
}
