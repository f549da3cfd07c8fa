import type { AssistantMessage, Message } from "../message.ts";
import { userContent } from "../text/frames.ts";
import { contentBlocks, isRecord, jsonText } from "../text/text.ts";
import { contextTokens, inputTokens, isPlausibleCount, outputTokens, type Usage } from "../usage.ts";

/** Tokens counted for an image, whatever its size. */
export const IMAGE_TOKENS = 1200;

/** Estimates the tokens of texts and messages. */
export interface TokenEstimator {
  readonly name: string;
  text(text: string): number;
  message(message: Message): number;
}

/** An estimator of messages made from an estimator of texts. Total: a damaged message has no tokens. */
export function estimatorOf(name: string, text: (text: string) => number): TokenEstimator {
  return { name, text, message: (message) => messageTokens(message, text) };
}

function messageTokens(message: Message, count: (text: string) => number): number {
  switch (message?.role) {
    case undefined:
    case "system":
      return 0;
    case "bashExecution":
    case "branchSummary":
    case "compactionSummary":
    case "custom":
      return contentTokens(userContent(message), count);
    default:
      return contentTokens(message.content, count);
  }
}

function contentTokens(content: unknown, count: (text: string) => number): number {
  let images = 0;
  let text = "";
  for (const block of contentBlocks(content)) {
    if (block.type === "image") images += IMAGE_TOKENS;
    else text += blockText(block);
  }
  return images + count(text);
}

function blockText(block: Record<string, unknown>): string {
  switch (block.type) {
    case "text":
      return typeof block.text === "string" ? block.text : "";
    case "thinking":
      return typeof block.thinking === "string" ? block.thinking : "";
    case "toolCall":
      return `${typeof block.name === "string" ? block.name : ""}${jsonText(block.arguments ?? {})}`;
    default:
      return "";
  }
}

/** ceil(UTF-16 code units / 4): the field's plain estimate. Too low on code, far too low on CJK text. */
export function chars4(text: string): number {
  return Math.ceil(text.length / 4);
}

export const chars4Estimator: TokenEstimator = estimatorOf("chars4", chars4);

/** The plain estimate rounded down, for the preset `tunacode`. */
export const chars4FloorEstimator: TokenEstimator = estimatorOf("chars4Floor", (text) =>
  Math.floor(text.length / 4),
);

/** Size of the context and its source. */
export interface ContextTokens {
  tokens: number;
  /** "usage": reported by the provider, plus estimates of later messages; "estimate": only estimates. */
  source: "usage" | "estimate";
  /** Index of the message with the usage; absent for "estimate". */
  usageIndex?: number;
  /** The estimated part of `tokens`. */
  trailingTokens: number;
}

export interface ContextTokensOptions {
  /** The model's context, oldest first. */
  messages: readonly Message[];
  estimator: TokenEstimator;
  /** True for the index of an answer to another context, whose usage does not count. Default: none is. */
  isStale?: (index: number) => boolean;
  /**
   * Tokens of system prompt and tools; below 0 if the messages are estimated too high. Called only without a valid usage, as
   * it may be slow. Default: 0.
   */
  overheadTokens?: () => number;
}

/** Maximum tokens of system prompt and tools of other programs, which no message shows. */
export const UNSEEN_TOKENS = 20_000;

/**
 * The tokens of the context: the usage of the last good answer plus estimates of later messages. Without a plausible usage,
 * estimates only: some servers of other programs report invented numbers.
 */
export function estimateContextTokens(options: ContextTokensOptions): ContextTokens {
  const { messages, estimator } = options;
  const usageIndex = trustedUsage(options);
  if (usageIndex < 0) {
    const trailingTokens = Math.max(0, (options.overheadTokens?.() ?? 0) + estimated(messages, estimator));
    return { tokens: trailingTokens, source: "estimate", trailingTokens };
  }
  const trailingTokens = estimated(messages.slice(usageIndex + 1), estimator);
  const { usage } = messages[usageIndex] as AssistantMessage;
  return { tokens: contextTokens(usage) + trailingTokens, source: "usage", usageIndex, trailingTokens };
}

/** Returns the index of the latest usage, or of the one before if the latest is an unexplained jump; -1 for none. */
function trustedUsage(options: ContextTokensOptions): number {
  const latest = latestUsage(options, options.messages.length);
  const before = latest < 0 ? -1 : latestUsage(options, latest);
  return before >= 0 && isUnexplained(options, before, latest) ? before : latest;
}

function latestUsage(options: ContextTokensOptions, end: number): number {
  const { messages, isStale } = options;
  return messages.findLastIndex((message, index) => {
    return index < end && isGoodAnswer(message) && isStale?.(index) !== true && isPlausible(options, index);
  });
}

/**
 * Limits of an explained jump: the maximum error of an estimate, as a factor, and the unseen growth of prompt and tools,
 * as a share with a minimum in tokens.
 */
const EXPLAINED = { factor: 3, share: 0.3, minTokens: 1_000 };

/**
 * True for a usage far above the one before it, although the messages between are short. Some servers report a multiple
 * once. A correct usage counts after the next report, which is then no jump.
 */
function isUnexplained(
  { messages, estimator }: ContextTokensOptions,
  before: number,
  latest: number,
): boolean {
  const tokensAt = (index: number) => contextTokens((messages[index] as AssistantMessage).usage);
  const unseen = Math.max(EXPLAINED.minTokens, tokensAt(before) * EXPLAINED.share);
  const unexplained = tokensAt(latest) - tokensAt(before) - unseen;
  if (unexplained <= 0) return false;
  if (unexplained <= EXPLAINED.factor * estimated(messages.slice(before + 1, latest + 1), estimator))
    return false;
  // The earlier usage may be the wrong one, such as a count without the cached tokens.
  return tokensAt(latest) > EXPLAINED.factor * estimated(messages.slice(0, latest + 1), estimator);
}

/** Estimates only as many messages as it needs, mostly none. */
function isPlausible({ messages, estimator }: ContextTokensOptions, index: number): boolean {
  const tokens = contextTokens((messages[index] as AssistantMessage).usage);
  let estimatedTokens = 0;
  for (let at = index; !isPlausibleCount(tokens, estimatedTokens, UNSEEN_TOKENS); at -= 1) {
    if (at < 0) return false;
    estimatedTokens += estimator.message(messages[at]!);
  }
  return true;
}

/** True for an answer whose usage includes the context: neither aborted nor failed, with counted input. */
export function isGoodAnswer(message: Message): message is AssistantMessage {
  if (message?.role !== "assistant") return false;
  const { stopReason, usage } = message;
  if (stopReason === "aborted" || stopReason === "error") return false;
  return contextTokens(usage) > outputTokens(usage);
}

function estimated(messages: readonly Message[], estimator: TokenEstimator): number {
  return messages.reduce((tokens, message) => tokens + estimator.message(message), 0);
}

/** Maximum average length of a token over an answer. */
const MAX_TOKEN_CHARS = 50;

/**
 * The usage of an answer, marked as uncounted if it is incomplete: the answer has content but no tokens, or more text
 * than its tokens can be. Scripted answers keep the usage of their scenario.
 */
export function answerUsage(answer: AssistantMessage): Usage {
  const { api, usage } = answer;
  if (!isRecord(usage) || usage.isUncounted === true || api === "scripted") return usage;
  const chars = contentChars(answer);
  const isCounted = inputTokens(usage) > 0 && chars <= MAX_TOKEN_CHARS * outputTokens(usage);
  return chars === 0 || isCounted ? usage : { ...usage, isUncounted: true };
}

function contentChars({ content }: AssistantMessage): number {
  const blocks = Array.isArray(content) ? content : [];
  return blocks.reduce((sum, block) => {
    if (block?.type === "text") return sum + textLength(block.text);
    if (block?.type === "thinking") return sum + textLength(block.thinking);
    if (block?.type !== "toolCall") return sum;
    const values = Object.values(block.arguments ?? {}).map(textLength);
    return values.reduce((all, each) => all + each, sum + textLength(block.name));
  }, 0);
}

function textLength(text: unknown): number {
  return typeof text === "string" ? text.length : 0;
}
