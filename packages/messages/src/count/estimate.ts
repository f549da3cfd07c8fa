import type { AssistantMessage, CompactionSummaryMessage, Message } from "../message.ts";
import { userContent } from "../text/frames.ts";
import { withoutProse } from "../text/marks.ts";
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
    case "custom":
      return contentTokens(userContent(message), count);
    case "compactionSummary":
      return summaryTokens(message, count);
    default:
      return contentTokens(message.content, count);
  }
}

/** The larger of the two forms: the next model may be another one. */
function summaryTokens(message: CompactionSummaryMessage, count: (text: string) => number): number {
  const readable = contentTokens(userContent(message), count);
  if (message.provider === undefined) return readable;
  const carried = contentTokens(userContent(withoutProse(message)), count);
  return Math.max(readable, message.provider.tokens + carried);
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
export const chars4Estimator: TokenEstimator = estimatorOf("chars4", (text) => Math.ceil(text.length / 4));

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

interface ContextTokensOptions {
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
  const explained = (from: number) =>
    EXPLAINED.factor * estimated(messages.slice(from, latest + 1), estimator);
  const unseen = Math.max(EXPLAINED.minTokens, tokensAt(before) * EXPLAINED.share);
  const unexplained = tokensAt(latest) - tokensAt(before) - unseen;
  // The earlier usage may be the wrong one, such as a count without the cached tokens.
  return unexplained > 0 && unexplained > explained(before + 1) && tokensAt(latest) > explained(0);
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
  const chars = contentBlocks(answer.content).reduce((sum, block) => sum + blockText(block).length, 0);
  const isCounted = inputTokens(usage) > 0 && chars <= MAX_TOKEN_CHARS * outputTokens(usage);
  return chars === 0 || isCounted ? usage : { ...usage, isUncounted: true };
}

/** A correction of an estimator, learned from a session's usage. */
export interface Calibration {
  /** Reported tokens per estimated token, 0.5 to 2.5; 1 without enough evidence. */
  readonly ratio: number;
  /** Tokens of system prompt and tools. 0 if unknown. */
  readonly overheadTokens: number;
  /** Number of answers used. */
  readonly samples: number;
}

interface CalibrateOptions {
  /** The context, oldest first. Calibrate before a compaction, which removes the usage. */
  messages: readonly Message[];
  /** The estimator to correct. */
  base: TokenEstimator;
  /** True for the index of an answer to another context. Default: none is. */
  isStale?: (index: number) => boolean;
  /** An earlier calibration, whose ratio counts without enough evidence. Default: a ratio of 1. */
  prior?: Calibration | undefined;
}

/** Estimated and reported tokens of one request. */
interface Sample {
  estimated: number;
  reported: number;
}

const MIN_RATIO = 0.5;
const MAX_RATIO = 2.5;
/** Below this many answers or estimated tokens between the first and the last, noise decides. */
const MIN_SAMPLES = 4;
const MIN_SPAN_TOKENS = 3000;
/**
 * A slope covers this part of the span: long enough that no odd message dominates, short enough that a context that shrank
 * unseen affects few slopes.
 */
const SLOPES_PER_SPAN = 6;

/**
 * Learns the ratio from the growth between requests, because their size includes system prompt and tools. Uses only answers
 * of the latest model, as each model has its own tokens.
 */
export function calibrate(options: CalibrateOptions): Calibration {
  const { messages, base, isStale = () => false, prior } = options;
  const samples = samplesOf(messages, base, isStale);
  // The overhead absorbs the error of the ratio.
  const ratio = ratioOf(samples) ?? prior?.ratio ?? 1;
  const overhead = median(samples.map(({ estimated, reported }) => reported - ratio * estimated)) ?? 0;
  return { ratio, overheadTokens: Math.max(0, Math.round(overhead)), samples: samples.length };
}

function samplesOf(
  messages: readonly Message[],
  base: TokenEstimator,
  isStale: (index: number) => boolean,
): Sample[] {
  const model = modelOf(messages.findLast(isGoodAnswer));
  const samples: Sample[] = [];
  let estimated = 0;
  let images = 0;
  for (const [index, message] of messages.entries()) {
    if (isGoodAnswer(message) && !isStale(index) && modelOf(message) === model) {
      const reported = inputTokens(message.usage) - images;
      if (reported > 0 && isPlausibleCount(reported, estimated, UNSEEN_TOKENS))
        samples.push({ estimated, reported });
    }
    const imageTokens = imageTokensOf(message);
    images += imageTokens;
    estimated += base.message(message) - imageTokens;
  }
  return samples;
}

function modelOf(answer: AssistantMessage | undefined): string {
  return `${answer?.provider}/${answer?.model}`;
}

function imageTokensOf(message: Message): number {
  const content: unknown = isRecord(message) ? message.content : undefined;
  return contentBlocks(content).filter((block) => block.type === "image").length * IMAGE_TOKENS;
}

/** Undefined if there is too little evidence. */
function ratioOf(samples: readonly Sample[]): number | undefined {
  const span = (samples.at(-1)?.estimated ?? 0) - (samples[0]?.estimated ?? 0);
  if (samples.length < MIN_SAMPLES || span < MIN_SPAN_TOKENS) return undefined;
  const slope = weightedMedian(slopesOf(samples, span / SLOPES_PER_SPAN));
  if (slope === undefined) return undefined;
  return Math.min(MAX_RATIO, Math.max(MIN_RATIO, slope));
}

interface Weighted {
  value: number;
  weight: number;
}

/**
 * The growth from each sample to the first one at least `step` later, weighted by the tokens that the sample added. Without
 * weights, many short messages would outvote the few long ones.
 */
function slopesOf(samples: readonly Sample[], step: number): Weighted[] {
  const slopes: Weighted[] = [];
  let to = 0;
  for (const [index, from] of samples.entries()) {
    while (to < samples.length && samples[to]!.estimated - from.estimated < step) to++;
    const next = samples[to];
    if (next === undefined) break;
    const value = (next.reported - from.reported) / (next.estimated - from.estimated);
    slopes.push({ value, weight: samples[index + 1]!.estimated - from.estimated });
  }
  return slopes;
}

function median(values: readonly number[]): number | undefined {
  return weightedMedian(values.map((value) => ({ value, weight: 1 })));
}

/** The smallest value with at least half of the weight at or below it. */
function weightedMedian(values: readonly Weighted[]): number | undefined {
  const sorted = values.toSorted((a, b) => a.value - b.value);
  const half = sorted.reduce((sum, { weight }) => sum + weight, 0) / 2;
  let sum = 0;
  for (const { value, weight } of sorted) {
    sum += weight;
    if (sum >= half) return value;
  }
  return undefined;
}
