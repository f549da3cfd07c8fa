import {
  type AssistantContent,
  type ImageContent,
  isRecord,
  type Message,
  type TextContent,
  type UserContent,
} from "@bonsai-agent/messages";
import { jsonDepthProblem } from "@bonsai-agent/messages/host";
import { isOwnAnswer, type ProviderApi } from "../model.ts";
import type { ModelRequest, RepairKind } from "../model-request.ts";
import { splitThinking } from "../thinking-tags.ts";

/** A context to repair. Its messages may be damaged in any way. */
export interface RepairOptions extends Pick<ModelRequest, "messages" | "model" | "prefixChangedAtMs"> {
  /** Leaves out all thinking of answers up to this time, in milliseconds since the epoch. Default: none. */
  dropThinkingUpToMs?: number | undefined;
}

/** The context of a repair pass. */
export interface RepairContext extends Omit<RepairOptions, "messages"> {
  found(kind: RepairKind, count?: number): void;
}

/** One kind of repair. Pure except for `found`. Returns the same array if nothing is wrong. */
export type RepairPass = (messages: readonly Message[], context: RepairContext) => readonly Message[];

/** Maps a list. Leaves out undefined. Returns the same list if no item changed. */
export function mended<Item>(
  items: readonly Item[],
  mend: (item: Item, index: number) => Item | undefined,
): readonly Item[] {
  let changed: Item[] | undefined;
  // Contexts are long, and `entries()` makes a pair for each item.
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index] as Item;
    const now = mend(item, index);
    if (now === item && now !== undefined) changed?.push(item);
    else {
      changed ??= items.slice(0, index);
      if (now !== undefined) changed.push(now);
    }
  }
  return changed ?? items;
}

/** As `mended`, for the blocks of a message. */
export function mendedBlocks<M extends Message, Block>(message: M, mend: (block: Block) => unknown): M {
  const { content } = message as unknown as { content: readonly Block[] };
  const kept = mended<unknown>(content, (block) => mend(block as Block));
  return kept === content ? message : { ...message, content: [...kept] };
}

/** All roles. The blocks of those with `true` are checked. */
const ROLES: Readonly<Record<Message["role"], boolean>> = {
  user: true,
  custom: true,
  toolResult: true,
  assistant: true,
  bashExecution: false,
  system: false,
  branchSummary: false,
  compactionSummary: false,
};

/** Leaves out values that are no message, and blocks that no provider can read. */
export const repairContent: RepairPass = (messages, { found }) => {
  const damaged = <Value>(value: Value): Value => {
    found("damaged_content");
    return value;
  };
  return mended(messages, (message) => {
    if (!Object.hasOwn(ROLES, message?.role)) return damaged(undefined);
    const { role } = message;
    if (!ROLES[role]) return message;
    const sound = role === "toolResult" ? soundResult(message) : message;
    const { content } = sound as { content?: unknown };
    if (typeof content === "string") {
      if (role === "user" || role === "custom") return message;
      return { ...sound, content: content === "" ? [] : [{ type: "text", text: content }] } as Message;
    }
    if (!Array.isArray(content)) return damaged({ ...sound, content: [] } as Message);
    return mendedBlocks(sound, (block) =>
      isSoundBlock(block, role === "assistant") ? withArguments(block) : damaged(undefined),
    );
  });
};

/** Removes arguments that are no object, or nested too deep. */
function withArguments(block: unknown): unknown {
  const call = block as AssistantContent;
  if (call.type !== "toolCall") return block;
  return isRecord(call.arguments) && jsonDepthProblem(call.arguments) === undefined
    ? block
    : { ...call, arguments: {} };
}

function soundResult(message: Extract<Message, { role: "toolResult" }>) {
  const { toolCallId, toolName } = message;
  if (typeof toolCallId === "string" && typeof toolName === "string") return message;
  return { ...message, toolCallId: String(toolCallId ?? ""), toolName: String(toolName ?? "tool") };
}

function isSoundBlock(block: unknown, isAnswer: boolean): boolean {
  if (!isRecord(block)) return false;
  switch (block.type) {
    case "text":
      return typeof block.text === "string";
    case "image":
      return !isAnswer && isFilled(block.data) && isFilled(block.mimeType);
    case "thinking":
      return isAnswer && typeof block.thinking === "string";
    case "toolCall":
      return isAnswer && typeof block.id === "string" && isFilled(block.name);
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

function withoutEmpties(message: Message): Message | undefined {
  if (message.role === "branchSummary" || message.role === "compactionSummary")
    return hasText(message.summary) ? message : undefined;
  if (!ROLES[message.role] || !("content" in message)) return message;
  if (typeof message.content === "string") return hasText(message.content) ? message : undefined;
  const filled = mendedBlocks(message, (block: UserContent | AssistantContent) =>
    isBlockFilled(block) ? block : undefined,
  ) as Extract<Message, { content: unknown[] }>;
  if (filled.role === "toolResult" && filled.content.length === 0)
    return { ...filled, content: [{ type: "text", text: "(no output)" }] };
  // Providers refuse thinking that nothing follows.
  return filled.content.every((block) => block.type === "thinking") ? undefined : filled;
}

function isBlockFilled(block: UserContent | AssistantContent): boolean {
  if (block.type === "text") return hasText(block.text);
  return block.type !== "thinking" || hasText(block.thinking) || block.thinkingSignature !== undefined;
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
    const text =
      stopReason === "error" ? [] : content.filter((block) => block.type === "text" && hasText(block.text));
    if (text.length === content.length && text.length > 0) return message;
    if (content.length > 0) found("failed_answer");
    return text.length === 0 ? undefined : { ...message, content: text };
  });

/** Leaves out thinking that the provider would not accept. */
export const repairThinking: RepairPass = (messages, context) => {
  const changedAtMs = contextChangedAtMs(messages, context.prefixChangedAtMs);
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

/** The time of the latest change of the context other than an addition: a compaction, or the caller's edit. */
export function contextChangedAtMs(
  messages: readonly Message[],
  prefixChangedAtMs = Number.NEGATIVE_INFINITY,
): number {
  const summaries = messages.filter((message) => message?.role === "compactionSummary");
  return Math.max(prefixChangedAtMs, latestMs(summaries));
}

/** Damaged messages may have no time. */
export function latestMs(messages: readonly Message[]): number {
  const times = messages.map((message) => message?.timestamp ?? Number.NaN);
  return times.reduce((latest, time) => (time > latest ? time : latest), Number.NEGATIVE_INFINITY);
}

function isSigned(block: Extract<AssistantContent, { type: "thinking" }>): boolean {
  return block.thinkingSignature !== undefined || block.redacted === true;
}

/** Signatures of texts and calls are bound to the context too. */
function unsigned(block: Exclude<AssistantContent, { type: "thinking" }>): AssistantContent {
  const { textSignature, thoughtSignature, ...rest } = block as TextContent & { thoughtSignature?: string };
  return textSignature === undefined && thoughtSignature === undefined ? block : rest;
}

interface ImageLimits {
  /** All images of a request, as base64. */
  requestBytes: number;
  imageBytes?: number;
}

/** Below the providers' limits (Anthropic: 32 MB a request, 5 MB an image), to leave room for the text. */
const limits: Readonly<Record<ProviderApi, ImageLimits>> = {
  "anthropic-messages": { requestBytes: 24_000_000, imageBytes: 5 * 1024 * 1024 },
  "openai-responses": { requestBytes: 40_000_000 },
  "openai-chat": { requestBytes: 40_000_000 },
  scripted: { requestBytes: 40_000_000 },
  extension: { requestBytes: 40_000_000 },
};

/** Replaces images that the model or its provider would refuse by a line of text. The oldest go first. */
export const repairImages: RepairPass = (messages, { model, found }) => {
  if (!model.input.includes("image")) {
    return withoutImages(messages, () => {
      found("image_not_supported");
      return "[Image omitted: this model accepts only text]";
    });
  }
  const { requestBytes, imageBytes = Number.POSITIVE_INFINITY } = limits[model.api] ?? limits.scripted;
  let excess = messages
    .flatMap(imagesOf)
    .reduce((sum, { data }) => (data.length > imageBytes ? sum : sum + data.length), -requestBytes);
  return withoutImages(messages, ({ data }) => {
    const isTooLarge = data.length > imageBytes;
    if (!isTooLarge && excess <= 0) return undefined;
    if (!isTooLarge) excess -= data.length;
    found("too_many_bytes");
    return "[Image omitted: it is too large]";
  });
};

/** Leaves out all images except those of the latest message with images. */
export function withoutOlderImages(messages: readonly Message[]): readonly Message[] {
  const newest = new Set(messages.map(imagesOf).findLast((images) => images.length > 0));
  return withoutImages(messages, (image) =>
    newest.has(image) ? undefined : "[Image omitted: the request was too large]",
  );
}

export function imagesOf(message: Message): ImageContent[] {
  const { content } = (message ?? {}) as { content?: unknown };
  return Array.isArray(content) ? content.filter((block) => block?.type === "image") : [];
}

/** @param marker returns the text that replaces an image; undefined keeps it */
export function withoutImages(
  messages: readonly Message[],
  marker: (image: ImageContent) => string | undefined,
): readonly Message[] {
  return mended(messages, (message) => {
    if (imagesOf(message).length === 0) return message;
    return mendedBlocks(message, (block: UserContent) => {
      const text = block.type === "image" ? marker(block) : undefined;
      return text === undefined ? block : { type: "text", text };
    });
  });
}
