import type { AssistantContent, ImageContent, StopReason, Usage, UserContent } from "@bonsai-agent/messages";
import { callArguments, text } from "./content.ts";
import { type Fields, fieldsAt, isFields, listAt, numberAt, stringAt } from "./fields.ts";
import type { NoticeLog } from "./notices.ts";

/** The content blocks of a record's message; a string is one text block. */
export function messageBlocks(record: Fields): Fields[] {
  const message = fieldsAt(record, "message");
  const content = message?.content;
  return typeof content === "string" ? [{ type: "text", text: content }] : listAt(message, "content");
}

/** Text and images of blocks as a user message or tool result has them. */
export function userContent(blocks: readonly Fields[], notices: NoticeLog, line: number): UserContent[] {
  return blocks.flatMap((block): UserContent[] => {
    if (block.type === "text") return [text(stringAt(block, "text") ?? "")];
    if (block.type !== "image" && block.type !== "document") return [];
    const image = block.type === "image" ? storedImage(block) : undefined;
    if (image !== undefined) return [image];
    notices.add("image_not_stored", line);
    return [text(`[${block.type}: ${stringAt(fieldsAt(block, "source"), "media_type") ?? "not stored"}]`)];
  });
}

function storedImage(block: Fields): ImageContent | undefined {
  const source = fieldsAt(block, "source");
  const data = stringAt(source, "data");
  if (source?.type !== "base64" || data === undefined) return undefined;
  return { type: "image", data, mimeType: stringAt(source, "media_type") ?? "image/png" };
}

export function resultContent(block: Fields, notices: NoticeLog, line: number): UserContent[] {
  const { content } = block;
  if (typeof content === "string") return [text(content)];
  return Array.isArray(content) ? userContent(content.filter(isFields), notices, line) : [];
}

export function assistantContent(
  blocks: readonly Fields[],
  notices: NoticeLog,
  line: number,
): AssistantContent[] {
  return blocks.flatMap((block): AssistantContent[] => {
    switch (block.type) {
      case "text":
        return [text(stringAt(block, "text") ?? "")];
      case "thinking":
        return [thinking(stringAt(block, "thinking") ?? "", stringAt(block, "signature"))];
      case "redacted_thinking":
        notices.add("unreadable", line);
        return [redacted(stringAt(block, "data") ?? "")];
      case "tool_use":
      case "server_tool_use":
        return [toolCall(block)];
      default:
        return [];
    }
  });
}

function thinking(value: string, signature: string | undefined): AssistantContent {
  const block: AssistantContent = { type: "thinking", thinking: value };
  return signature === undefined || signature === "" ? block : { ...block, thinkingSignature: signature };
}

/** As pi stores it: the opaque payload stands in the signature. */
function redacted(data: string): AssistantContent {
  const block = {
    type: "thinking",
    thinking: "[Reasoning redacted]",
    thinkingSignature: data,
    redacted: true,
  };
  return block as AssistantContent;
}

function toolCall(block: Fields): AssistantContent {
  return {
    type: "toolCall",
    id: stringAt(block, "id") ?? "",
    name: stringAt(block, "name") ?? "unknown",
    arguments: callArguments(block.input),
  };
}

/** A record's usage; undefined when it has none. Old records carry their cost, new ones do not. */
export function recordUsage(record: Fields): Usage | undefined {
  const usage = fieldsAt(fieldsAt(record, "message"), "usage");
  if (usage === undefined) return undefined;
  const input = numberAt(usage, "input_tokens");
  const output = numberAt(usage, "output_tokens");
  const cacheRead = numberAt(usage, "cache_read_input_tokens");
  const cacheWrite = numberAt(usage, "cache_creation_input_tokens");
  const total = numberAt(record, "costUSD");
  return {
    input,
    output,
    cacheRead,
    cacheWrite,
    totalTokens: input + output + cacheRead + cacheWrite,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total },
  };
}

const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "toolUse",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "stop",
  pause_turn: "stop",
};

export function recordStopReason(record: Fields): StopReason | undefined {
  if (record.isApiErrorMessage === true) return "error";
  return STOP_REASONS[stringAt(fieldsAt(record, "message"), "stop_reason") ?? ""];
}

/** The text that an attachment record put before the model; undefined when it has none of its own. */
export function attachmentText(attachment: Fields): string | undefined {
  const file = fieldsAt(fieldsAt(attachment, "content"), "file");
  const found =
    stringAt(attachment, "content") ??
    stringAt(file, "content") ??
    stringAt(attachment, "text") ??
    stringAt(attachment, "snippet");
  if (found === undefined || found.trim() === "") return undefined;
  const name = stringAt(attachment, "filename") ?? stringAt(file, "filePath");
  return `[${stringAt(attachment, "type") ?? "attachment"}${name === undefined ? "" : ` ${name}`}]\n${found}`;
}
