import type { AssistantContent, Message } from "@bonsai-agent/messages";
import { mended, type RepairPass } from "./repair-pass.ts";

/** Deeper than any tool's arguments; below it nothing is looked at. */
const MAX_DEPTH = 64;

/**
 * Replaces halves of characters, which JSON can write and no provider can read, wherever a text goes out. What a
 * result keeps for the program (`details`) and images stay as they are.
 */
export const repairText: RepairPass = (messages, { found }) =>
  mended(messages, (message) => {
    const sound = wellFormedMessage(message);
    if (sound !== message) found("lone_surrogate");
    return sound;
  });

function wellFormedMessage(message: Message): Message {
  switch (message.role) {
    case "assistant": {
      const content = mended(message.content, wellFormedBlock);
      return content === message.content ? message : { ...message, content: [...content] };
    }
    case "user":
    case "custom":
    case "toolResult": {
      const content = wellFormed(message.content, 0);
      return content === message.content ? message : ({ ...message, content } as Message);
    }
    case "bashExecution":
    case "branchSummary":
    case "compactionSummary":
      return wellFormed(message, 0) as Message;
    default:
      return message;
  }
}

/** A signature holds for the text as it was: thinking that has to be changed is left out. */
function wellFormedBlock(block: AssistantContent): AssistantContent | undefined {
  const sound = wellFormed(block, 0) as AssistantContent;
  const isSigned = sound.type === "thinking" && sound.thinkingSignature !== undefined;
  return sound !== block && isSigned ? undefined : sound;
}

function wellFormed(value: unknown, depth: number): unknown {
  if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed();
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return mended<unknown>(value, (item) => wellFormed(item, depth + 1));
  return wellFormedRecord(value as Record<string, unknown>, depth);
}

function wellFormedRecord(record: Record<string, unknown>, depth: number): Record<string, unknown> {
  let changed = false;
  const fields = Object.entries(record).map(([key, value]) => {
    const soundKey = key.toWellFormed();
    const sound = wellFormed(value, depth + 1);
    changed ||= soundKey !== key || sound !== value;
    return [soundKey, sound] as const;
  });
  return changed ? Object.fromEntries(fields) : record;
}
