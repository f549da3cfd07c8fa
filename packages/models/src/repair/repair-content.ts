import { type AssistantContent, isRecord, type Message, type UserContent } from "@bonsai-agent/messages";
import { exceedsJsonDepth, splitThinking } from "@bonsai-agent/messages/host";
import { isOwnAnswer } from "../model.ts";
import { mended, mendedBlocks, type RepairContext, type RepairPass } from "./repair.ts";

/** All roles, with the check of their content blocks. */
const SOUND_BLOCKS: Readonly<Record<Message["role"], ((block: unknown) => boolean) | undefined>> = {
  user: isUserContent,
  custom: isUserContent,
  toolResult: isUserContent,
  assistant: isAssistantContent,
  bashExecution: undefined,
  system: undefined,
  branchSummary: undefined,
  compactionSummary: undefined,
};

/** Leaves out values that are no message, and blocks that no provider can read. */
export const repairContent: RepairPass = (messages, { found }) => {
  const damaged = <Value>(value: Value): Value => {
    found("damaged_content");
    return value;
  };
  return mended(messages, (message) => {
    if (!Object.hasOwn(SOUND_BLOCKS, message?.role)) return damaged(undefined);
    const isSound = SOUND_BLOCKS[message.role];
    if (isSound === undefined) return message;
    const sound = message.role === "toolResult" ? soundResult(message) : message;
    const { content } = sound as { content?: unknown };
    if (typeof content === "string") {
      if (message.role === "user" || message.role === "custom") return message;
      return { ...sound, content: content === "" ? [] : [{ type: "text", text: content }] } as Message;
    }
    if (!Array.isArray(content)) return damaged({ ...sound, content: [] } as Message);
    return mendedBlocks(sound, (block) => (isSound(block) ? withArguments(block) : damaged(undefined)));
  });
};

/** Removes arguments that are no object, or nested too deep. */
function withArguments(block: unknown): unknown {
  const call = block as AssistantContent;
  if (call.type !== "toolCall") return block;
  return isRecord(call.arguments) && !exceedsJsonDepth(call.arguments) ? block : { ...call, arguments: {} };
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

/** Deeper than any tool's arguments. */
const MAX_DEPTH = 64;

/** Replaces halves of characters in sent texts: JSON can write them, but no provider can read them. */
export const repairText: RepairPass = (messages, { found }) =>
  mended(messages, (message) => {
    const sound = wellFormedMessage(message);
    if (sound !== message) found("lone_surrogate");
    return sound;
  });

function wellFormedMessage(message: Message): Message {
  switch (message.role) {
    case "assistant":
      return mendedBlocks(message, wellFormedBlock);
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

/** Leaves out changed thinking: its signature no longer fits. */
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

/** Leaves out empty messages and blocks. An empty result becomes "(no output)". */
export const repairEmpties: RepairPass = (messages, context) =>
  mended(messages, (message) => {
    const filled = withoutEmpties(message);
    if (filled !== message) context.found("empty_message");
    return filled;
  });

/** A conversation must begin with the user: adds a line before a first answer. */
export const repairBeginning: RepairPass = (messages, { found }: RepairContext) => {
  const first = messages.find((message) => message.role !== "system");
  if (first?.role !== "assistant") return messages;
  found("no_user_first");
  const at = messages.indexOf(first);
  const { timestamp } = first;
  const line: Message = { role: "user", content: "[Earlier messages are no longer shown]", timestamp };
  return [...messages.slice(0, at), line, ...messages.slice(at)];
};

function withoutEmpties(message: Message): Message | undefined {
  switch (message.role) {
    case "user":
    case "custom":
      return typeof message.content === "string"
        ? hasText(message.content)
          ? message
          : undefined
        : filled(message, message.content.filter(isUserBlockFilled));
    case "toolResult": {
      const content = message.content.filter(isUserBlockFilled);
      if (content.length === message.content.length && content.length > 0) return message;
      return { ...message, content: content.length > 0 ? content : [{ type: "text", text: "(no output)" }] };
    }
    case "assistant": {
      const content = message.content.filter(isAnswerBlockFilled);
      // Providers refuse thinking that nothing follows.
      return content.every((block) => block.type === "thinking") ? undefined : filled(message, content);
    }
    case "branchSummary":
    case "compactionSummary":
      return hasText(message.summary) ? message : undefined;
    default:
      return message;
  }
}

function filled<M extends Extract<Message, { content: unknown[] | string }>>(
  message: M,
  content: readonly (UserContent | AssistantContent)[],
): Message | undefined {
  if (content.length === 0) return undefined;
  return content.length === message.content.length ? message : ({ ...message, content } as Message);
}

function isUserBlockFilled(block: UserContent): boolean {
  return block.type === "image" || hasText(block.text);
}

function isAnswerBlockFilled(block: AssistantContent): boolean {
  if (block.type === "text") return hasText(block.text);
  if (block.type !== "thinking") return true;
  return hasText(block.thinking) || block.thinkingSignature !== undefined;
}

function hasText(text: unknown): boolean {
  return typeof text === "string" && text.trim() !== "";
}

/**
 * Leaves out failed answers, because the request is repeated. Keeps the text of an aborted answer, because the user saw it:
 * its calls were not run, and its thinking has no signature.
 */
export const repairAnswers: RepairPass = (messages, { found }) =>
  mended(messages, (message) => {
    if (message.role !== "assistant") return message;
    const { stopReason, content } = message;
    if (stopReason !== "error" && stopReason !== "aborted") return message;
    const text = stopReason === "error" ? [] : content.filter(isText);
    if (text.length === content.length && text.length > 0) return message;
    if (content.length > 0) found("failed_answer");
    return text.length === 0 ? undefined : { ...message, content: text };
  });

/** Leaves out thinking that the provider would not accept. */
export const repairThinking: RepairPass = (messages, context) => {
  const changedAtMs = lastChange(messages, context);
  const { dropThinkingUpToMs: dropUpToMs } = context;
  return mended(messages, (message) => {
    if (message.role !== "assistant") return message;
    const isDropped = dropUpToMs !== undefined && !(message.timestamp > dropUpToMs);
    const isForeign = !isOwnAnswer(message, context.model);
    return mendedBlocks(message, (block: AssistantContent) => {
      if (block.type !== "thinking") return isDropped ? unsigned(block) : block;
      const isBound = isForeign || isDropped || (isSigned(block) && message.timestamp < changedAtMs);
      if (!isBound) return block;
      context.found("bound_thinking");
      return undefined;
    });
  });
};

/** Leaves out thinking in the text of answers: older sessions stored it there. */
export const repairThoughtText: RepairPass = (messages) =>
  mended(messages, (message) => {
    const first = message.role === "assistant" ? message.content[0] : undefined;
    if (message.role !== "assistant" || first?.type !== "text") return message;
    const { thinking, text } = splitThinking(first.text);
    if (thinking.trim() === "" && text.trim() === first.text.trim()) return message;
    return { ...message, content: [{ ...first, text }, ...message.content.slice(1)] };
  });

/** Answers before the latest compaction, or before the caller's edit, belong to another context. */
function lastChange(messages: Parameters<RepairPass>[0], context: RepairContext): number {
  const summaries = messages.filter((message) => message.role === "compactionSummary");
  return summaries.reduce(
    (latest, { timestamp }) => (timestamp > latest ? timestamp : latest),
    context.prefixChangedAtMs ?? Number.NEGATIVE_INFINITY,
  );
}

function isSigned(block: Extract<AssistantContent, { type: "thinking" }>): boolean {
  return block.thinkingSignature !== undefined || block.redacted === true;
}

/** Signatures of texts and calls are bound to the context too. */
function unsigned(block: Exclude<AssistantContent, { type: "thinking" }>): AssistantContent {
  if (block.type === "text") {
    if (block.textSignature === undefined) return block;
    const { textSignature: _, ...text } = block;
    return text;
  }
  if (block.thoughtSignature === undefined) return block;
  const { thoughtSignature: _, ...call } = block;
  return call;
}

function isText(block: AssistantContent): boolean {
  return block.type === "text" && block.text.trim() !== "";
}
