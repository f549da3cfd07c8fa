import {
  type AssistantContent,
  type ImageContent,
  isRecord,
  type StopReason,
  type Usage,
  type UserContent,
} from "@bonsai-agent/messages";
import { type Fields, fieldsAt, numberAt, stringAt } from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import { callArguments, requestUsage, text } from "../import/step.ts";

/** Content as blocks; a string is one text block. */
export function blocksOf(content: unknown): Fields[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.filter(isRecord) : [];
}

/** The content blocks of a record's message. */
export function messageBlocks(record: Fields): Fields[] {
  return blocksOf(fieldsAt(record, "message")?.content);
}

/** Text and images of blocks, for a user message or a tool result. */
export function userContent(blocks: readonly Fields[], notices: NoticeLog, line: number): UserContent[] {
  return blocks.flatMap((block): UserContent[] => {
    if (block.type === "text") return [text(stringAt(block, "text") ?? "")];
    if (block.type !== "image" && block.type !== "document") return [];
    const image = block.type === "image" ? storedImage(block) : undefined;
    if (image !== undefined) return [image];
    notices.add("image_not_stored", line);
    return [text(`[${block.type}: ${stringAt(block, "source", "media_type") ?? "not stored"}]`)];
  });
}

function storedImage(block: Fields): ImageContent | undefined {
  const source = fieldsAt(block, "source");
  const data = stringAt(source, "data");
  if (source?.type !== "base64" || data === undefined) return undefined;
  return { type: "image", data, mimeType: stringAt(source, "media_type") ?? "image/png" };
}

export function assistantContent(record: Fields, notices: NoticeLog, line: number): AssistantContent[] {
  return messageBlocks(record).flatMap((block): AssistantContent[] => {
    switch (block.type) {
      case "text":
        return [text(stringAt(block, "text") ?? "")];
      case "thinking": {
        const thinkingSignature = stringAt(block, "signature");
        const thinking = stringAt(block, "thinking") ?? "";
        return [{ type: "thinking", thinking, ...(thinkingSignature ? { thinkingSignature } : {}) }];
      }
      case "redacted_thinking":
        notices.add("unreadable", line);
        return [redacted(stringAt(block, "data") ?? "")];
      case "tool_use":
      case "server_tool_use": {
        const [id = "", name = "unknown"] = [stringAt(block, "id"), stringAt(block, "name")];
        return [{ type: "toolCall", id, name, arguments: callArguments(block.input) }];
      }
      default:
        return [];
    }
  });
}

/** The form of pi, with the opaque payload as the signature. */
function redacted(thinkingSignature: string): AssistantContent {
  return { type: "thinking", thinking: "[Reasoning redacted]", thinkingSignature, redacted: true };
}

/** A record's usage; undefined if it has none. Old records have their cost, new ones do not. */
export function recordUsage(record: Fields): Usage | undefined {
  const usage = fieldsAt(record, "message", "usage");
  if (usage === undefined) return undefined;
  const counts = {
    input: numberAt(usage, "input_tokens"),
    output: numberAt(usage, "output_tokens"),
    cacheRead: numberAt(usage, "cache_read_input_tokens"),
    cacheWrite: numberAt(usage, "cache_creation_input_tokens"),
  };
  return requestUsage(counts, numberAt(record, "costUSD"));
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
  return STOP_REASONS[stringAt(record, "message", "stop_reason") ?? ""];
}

/** The text of an attachment record; undefined for none. */
export function attachmentText(attachment: Fields): string | undefined {
  const file = fieldsAt(attachment, "content", "file");
  const found =
    stringAt(attachment, "content") ??
    stringAt(file, "content") ??
    stringAt(attachment, "text") ??
    stringAt(attachment, "snippet");
  if (found === undefined || found.trim() === "") return undefined;
  const name = stringAt(attachment, "filename") ?? stringAt(file, "filePath");
  return `[${stringAt(attachment, "type") ?? "attachment"}${name === undefined ? "" : ` ${name}`}]\n${found}`;
}

/** The id of an answer. Its content blocks are separate records with the same id. */
export function answerId(record: Fields, uuid: string): string {
  return stringAt(record, "message", "id") ?? uuid;
}

/** True for a user record with the result of a call. */
export function hasResults(record: Fields): boolean {
  return messageBlocks(record).some((block) => block.type === "tool_result");
}
