import { type AssistantContent, isTooDeep, type Message, type UserContent } from "@bonsai-agent/messages";
import { mended, type RepairPass } from "./repair-pass.ts";

const ROLES: ReadonlySet<unknown> = new Set([
  "user",
  "assistant",
  "toolResult",
  "bashExecution",
  "custom",
  "system",
  "branchSummary",
  "compactionSummary",
]);

/** Leaves out what is no message, and parts of messages that no provider can read. */
export const repairContent: RepairPass = (messages, { found }) => {
  const soundBlock = (isSound: (block: unknown) => boolean) => (block: unknown) => {
    if (isSound(block)) return block;
    found("damaged_content");
    return undefined;
  };
  return mended(messages, (message) => {
    if (!ROLES.has(message?.role)) {
      found("damaged_content");
      return undefined;
    }
    switch (message.role) {
      case "user":
      case "custom":
        return withSoundContent(message, { isText: true, keep: soundBlock(isUserContent), found });
      case "toolResult":
        return withSoundContent(soundResult(message), {
          isText: false,
          keep: soundBlock(isUserContent),
          found,
        });
      case "assistant":
        return withSoundContent(message, { isText: false, keep: soundBlock(isAssistantContent), found });
      default:
        return message;
    }
  });
};

interface ContentRules {
  /** Whether the content may be a string. */
  isText: boolean;
  keep: (block: unknown) => unknown;
  found: (kind: "damaged_content") => void;
}

function withSoundContent<M extends Message & { content: unknown }>(
  message: M,
  { isText, keep, found }: ContentRules,
): M {
  const { content } = message;
  if (typeof content === "string") {
    if (isText) return message;
    return { ...message, content: content === "" ? [] : [{ type: "text", text: content }] };
  }
  if (!Array.isArray(content)) {
    found("damaged_content");
    return { ...message, content: [] };
  }
  const kept = mended<unknown>(content, (block) => {
    const sound = keep(block);
    return sound === undefined ? undefined : withArguments(sound);
  });
  return kept === content ? message : { ...message, content: kept };
}

/** A call whose arguments are no object, or cannot be written, is a call without arguments. */
function withArguments(block: unknown): unknown {
  const call = block as AssistantContent;
  if (call.type !== "toolCall") return block;
  return isRecord(call.arguments) && !isTooDeep(call.arguments) ? block : { ...call, arguments: {} };
}

function soundResult(message: Extract<Message, { role: "toolResult" }>) {
  if (typeof message.toolCallId === "string" && typeof message.toolName === "string") return message;
  return {
    ...message,
    toolCallId: String(message.toolCallId ?? ""),
    toolName: String(message.toolName ?? "tool"),
  };
}

function isUserContent(block: unknown): block is UserContent {
  if (!isRecord(block)) return false;
  if (block.type === "text") return typeof block.text === "string";
  return block.type === "image" && isFilled(block.data) && isFilled(block.mimeType);
}

function isAssistantContent(block: unknown): block is AssistantContent {
  if (!isRecord(block)) return false;
  switch (block.type) {
    case "text":
      return typeof block.text === "string";
    case "thinking":
      return typeof block.thinking === "string";
    case "toolCall":
      return typeof block.id === "string" && isFilled(block.name);
    default:
      return false;
  }
}

function isFilled(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
