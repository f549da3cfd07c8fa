import {
  type AssistantMessage,
  messageText,
  promptTokens,
  tokensText,
  toolCalls,
} from "@bonsai-agent/messages";
import { count as digits, duration } from "@bonsai-agent/messages/numbers";
import type { CatalogueModel } from "../model.ts";
import { namesFullContext } from "./refusal-judge.ts";

/** The six outcomes of a refused request. Only `inputTooLong` calls for compaction. */
export type FailureKind =
  | "inputTooLong"
  | "outputCapTooLarge"
  | "bytesTooLarge"
  | "rateLimit"
  | "damagedHistory"
  | "other";

/** Why a request failed, in the provider's words and in ours. */
export interface ModelFailure {
  /** What is to be done about it. */
  kind: FailureKind;
  /** The provider's message, without keys. */
  message: string;
  /** The name before the slash in `provider/id`. */
  provider: string;
  /** The id behind it. */
  modelId: string;
  /** HTTP status; absent where no answer came. */
  status?: number | undefined;
  /** The provider's own code or type. */
  code?: string | undefined;
  /** True when the same request may succeed later. */
  retryable: boolean;
  /** True where a second attempt may help and a third will not. */
  retryOnce?: boolean | undefined;
  /** What the provider asked to wait. */
  retryAfterMs?: number | undefined;
  /** The server's window, where the message tells. */
  windowTokens?: number | undefined;
  /** The server's count of the input, where the message tells. */
  inputTokens?: number | undefined;
  /** The output cap that was asked for, where the message tells. */
  outputTokens?: number | undefined;
  /** The largest output cap that the model takes, where the message tells. */
  outputLimitTokens?: number | undefined;
  /** The size of the request, where the message tells. */
  requestBytes?: number | undefined;
  /** The largest request that the server takes, where the message tells. */
  limitBytes?: number | undefined;
  /** True when no word of the refusal says so, but the size of what was refused: worth one try, not two. */
  presumed?: boolean | undefined;
  /** True when the provider answered as if nothing were wrong. */
  silent?: boolean | undefined;
}

/** The code of an answer that was given up because it had no end. */
export const TOO_LARGE = "answer_too_large";

/** The code of an answer that ended without a failure and says nothing. */
export const EMPTY_ANSWER = "answer_empty";

/** Neither a blank nor a character that takes no space, such as a zero-width space. */
const SEEN = /[^\s\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/u;

/** The failure of an answer that ended as if it were complete, without a word or a call; undefined for any other. */
export function emptyAnswer(
  { provider, id: modelId }: CatalogueModel,
  answer: AssistantMessage,
): ModelFailure | undefined {
  if (toolCalls(answer).length > 0 || SEEN.test(messageText(answer))) return undefined;
  const failure = { kind: "other", code: EMPTY_ANSWER, provider, modelId, retryOnce: true } as const;
  // The same cap would cut the next one off too.
  if (answer.stopReason === "length")
    return {
      ...failure,
      message: "The model reached its output limit before it wrote any text.",
      retryable: false,
    };
  const hasThought = answer.content.some(({ type }) => type === "thinking");
  const message = hasThought
    ? "The model only produced thinking: its answer has no text and no tool call."
    : "The model's answer was empty.";
  return { ...failure, message, retryable: true };
}

/** An input of this part of the window that leaves not a single token has filled it. */
const FULL = 0.99;
/** Without a token of an answer, the server's own window may be smaller than the known one. */
const LIKELY_FULL = 0.5;

/** Maximum ratio of an input that overflowed to the request's estimate. A larger count is wrong: no window was exceeded. */
const MAX_ESTIMATES = 1.5;
/** Tokens of a server's own instructions or of the text of its tool use, which no estimate has. */
export const UNSEEN_INPUT_TOKENS = 2_000;

interface SilentOverflowOptions {
  model: CatalogueModel;
  answer: AssistantMessage;
  /** Estimated tokens of the request, if they are known. */
  estimatedTokens?: number | undefined;
  /** The request's size, where it is known that the server read only a part of it. */
  cutOffTokens?: number | undefined;
}

/** An overflow that the provider reported as a success; undefined for an answer that is what it seems. */
export function silentOverflow(options: SilentOverflowOptions): ModelFailure | undefined {
  const { model, answer, cutOffTokens } = options;
  const reason = reasonOf(options);
  if (reason === undefined) return undefined;
  const windowTokens = model.contextWindow ?? 0;
  const inputTokens = cutOffTokens ?? promptTokens(answer.usage);
  return {
    kind: "inputTooLong",
    message: reason,
    provider: model.provider,
    modelId: model.id,
    retryable: false,
    silent: true,
    ...(inputTokens > 0 && { inputTokens }),
    ...(windowTokens > 0 && { windowTokens }),
  };
}

function reasonOf({
  model,
  answer,
  estimatedTokens,
  cutOffTokens,
}: SilentOverflowOptions): string | undefined {
  const { usage, stopReason, rawStopReason } = answer;
  if (rawStopReason !== undefined && namesFullContext(rawStopReason))
    return "The answer ended because the context window was full.";
  const windowTokens = model.contextWindow ?? 0;
  if (windowTokens <= 0) return undefined;
  const window = digits(windowTokens);
  if (cutOffTokens !== undefined)
    return `The request had ${tokensText(cutOffTokens, true)}, but the provider cut it to its context window of ${window} tokens.`;
  const inputTokens = promptTokens(usage);
  const isCut = stopReason === "length" && usage.output === 0;
  if (isCut && answer.content.length === 0 && inputTokens >= windowTokens * LIKELY_FULL)
    return "The server stopped for length before the first token: the request fills its context window.";
  const isFull = isCut && inputTokens >= windowTokens * FULL;
  const maxTokens = (estimatedTokens ?? Number.POSITIVE_INFINITY) * MAX_ESTIMATES + UNSEEN_INPUT_TOKENS;
  if (!isFull && (inputTokens <= windowTokens || inputTokens > maxTokens)) return undefined;
  return `The provider answered, but the request of ${digits(inputTokens)} tokens fills the model's context window of ${window} tokens.`;
}

/** When and how often a failed request is repeated. */
export interface RetryPolicy {
  /** Attempts after the first. Default 5. */
  maxRetries: number;
  /** Wait before the first retry; it doubles each time, with up to a quarter of jitter. Default 1,000. */
  baseDelayMs: number;
  /** Default 60,000. A `retry-after` above it ends the request with an error that names the wait. */
  maxDelayMs: number;
  /** A stream that sends nothing for so long is taken for dead. Default 300,000; 0 waits for ever. */
  silenceMs: number;
  /**
   * A stream that brings no text, no thinking and no call for so long is ended, whatever signs of life it gives. Default
   * 600,000; 0 waits for ever.
   */
  contentMs: number;
}

export const defaultRetryPolicy: RetryPolicy = {
  maxRetries: 5,
  baseDelayMs: 1_000,
  maxDelayMs: 60_000,
  silenceMs: 300_000,
  contentMs: 600_000,
};

/** A retry that is due. */
interface PlannedRetry {
  /** 1 for the first retry. */
  attempt: number;
  maxAttempts: number;
  delayMs: number;
}

/** The retries of one request. Owner of how many have been used. */
export class RetryBudget {
  readonly #policy: RetryPolicy;
  readonly #random: () => number;
  #used = 0;
  #usedOnce = 0;

  /** @param random from 0 up to, not including, 1 */
  constructor(policy: RetryPolicy, random: () => number) {
    this.#policy = policy;
    this.#random = random;
  }

  /** The wait before the same request is sent again; undefined where it must not be, or not any more. */
  next({ retryable, retryOnce, retryAfterMs }: ModelFailure): PlannedRetry | undefined {
    const { maxRetries, maxDelayMs } = this.#policy;
    if (!retryable || this.#used >= maxRetries || (retryAfterMs ?? 0) > maxDelayMs) return undefined;
    if (retryOnce && this.#usedOnce > 0) return undefined;
    this.#used += 1;
    if (retryOnce) this.#usedOnce += 1;
    const count = retryOnce
      ? { attempt: 1, maxAttempts: 1 }
      : { attempt: this.#used, maxAttempts: maxRetries };
    return { ...count, delayMs: Math.round(retryAfterMs || this.#backoffMs()) };
  }

  /** The final failure of a request. Its message names the wait or the number of attempts. */
  givenUp(failure: ModelFailure): ModelFailure {
    const { retryable, retryAfterMs = 0, message } = failure;
    if (!retryable) return failure;
    if (retryAfterMs > this.#policy.maxDelayMs) {
      const wait = `${duration(retryAfterMs)}; the limit is ${duration(this.#policy.maxDelayMs)} (retry.maxDelayMs)`;
      return { ...failure, message: `${sentence(message)} The provider asked to wait ${wait}.` };
    }
    if (this.#used === 0) return failure;
    return { ...failure, message: `${sentence(message)} Gave up after ${this.#used + 1} attempts.` };
  }

  #backoffMs(): number {
    const { baseDelayMs, maxDelayMs } = this.#policy;
    const doubled = baseDelayMs * 2 ** (this.#used - 1);
    return Math.min(maxDelayMs, doubled * (1 + this.#random() / 4));
  }
}

export function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
