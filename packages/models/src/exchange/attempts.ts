import { type AssistantMessage, callsIn, inputTokens, messageText } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import { count, duration, tokensText } from "@bonsai-agent/messages/numbers";
import type { AnswerBuilder } from "../answer-builder.ts";
import { ANSWER_TOO_LARGE, answerEnd, sentence } from "../failure/answer-end.ts";
import { namesFullContext } from "../failure/refusal-judge.ts";
import type { CatalogueModel } from "../model.ts";
import {
  type ModelFailure,
  type ModelNotice,
  type StreamEvent,
  UNSEEN_INPUT_TOKENS,
} from "../model-request.ts";
import { type Provider, type ProviderCall, ProviderError } from "../provider.ts";

/** `silenceMs` and `contentMs` are those of the policy. */
interface AttemptOptions extends Pick<RetryPolicy, "silenceMs" | "contentMs"> {
  provider: Provider;
  call: Omit<ProviderCall, "signal" | "onAlive">;
  answer: AnswerBuilder;
  /** Ends the attempt at once, even if the provider ignores it. */
  signal: AbortSignal | undefined;
}

/** Ten times an answer of the largest output cap. */
const MAX_ANSWER_CHARS = 8_000_000;
/** Calls, texts and thoughts. */
const MAX_ANSWER_BLOCKS = 500;

type RetryNotice = Extract<ModelNotice, { type: "retry" }>;
type Delta = Extract<StreamEvent, { type: "text" | "thinking" | "tool_call" }>;

/**
 * Runs one attempt and yields the provider's events. Throws the provider's error, the signal's reason after an abort, and
 * a ProviderError after a silence, for an answer that is too large, and for an answer that ended inside a call.
 */
export async function* attempt(options: AttemptOptions): AsyncGenerator<Delta, void, void> {
  const { provider, call, answer, signal } = options;
  signal?.throwIfAborted();
  const watch = new Watch(options);
  let chars = 0;
  let isDone = false;
  let events: AsyncIterator<StreamEvent> | undefined;
  try {
    const watched: ProviderCall = { ...call, onAlive: () => watch.alive(), signal: watch.signal };
    events = provider.stream(watched, answer)[Symbol.asyncIterator]();
    for (;;) {
      const next: unknown = await watch.next(events);
      if (!isResult(next))
        throw new TypeError("The provider's stream returned a value that is not an iterator result.");
      isDone = next.done === true;
      if (isDone) break;
      if (!isDelta(next.value)) continue;
      if (hasContent(next.value)) watch.content();
      chars += next.value.delta.length;
      refuseTooMuch(chars, answer.message.content.length);
      yield next.value;
    }
    const rest = answer.endText();
    if (rest !== undefined) yield rest as Delta;
    if (answer.hasOpenCall) {
      throw new ProviderError({ kind: "cut", message: "The answer stopped in the middle of a tool call." });
    }
  } finally {
    watch.end();
    if (!isDone) leave(events);
  }
}

/** Does not wait: the provider may hang. */
function leave(events: AsyncIterator<StreamEvent> | undefined): void {
  Promise.resolve()
    .then(() => events?.return?.())
    .catch(() => {
      // The attempt has ended already.
    });
}

/** A provider that returns anything else would never end. */
function isResult(next: unknown): next is IteratorResult<StreamEvent> {
  return typeof next === "object" && next !== null;
}

/** Ignores a provider's `start`, `done` and `error`. */
function isDelta(event: unknown): event is Delta {
  const { type, delta } = (event ?? {}) as Partial<Delta>;
  return (type === "text" || type === "thinking" || type === "tool_call") && typeof delta === "string";
}

/** False for an empty piece: a server may send such pieces for ever. */
function hasContent(event: Delta): boolean {
  return event.delta !== "" || (event.type === "tool_call" && event.toolCall !== undefined);
}

function refuseTooMuch(chars: number, blocks: number): void {
  if (chars <= MAX_ANSWER_CHARS && blocks <= MAX_ANSWER_BLOCKS) return;
  const isLong = chars > MAX_ANSWER_CHARS;
  const limit = isLong
    ? `${count(MAX_ANSWER_CHARS)} characters`
    : `${MAX_ANSWER_BLOCKS} text blocks and tool calls`;
  throw new ProviderError({
    kind: "excess",
    code: ANSWER_TOO_LARGE,
    message: `The answer was too long: the server sent more than ${limit}.`,
  });
}

/** A longer timer would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Limits the waits for a provider. The time that the reader of the stream takes does not count. */
class Watch {
  /** Aborts with the caller's signal, at a limit, and at the end of the attempt. */
  readonly signal: AbortSignal;
  readonly #options: AttemptOptions;
  readonly #own = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #contentLeftMs: number;

  constructor(options: AttemptOptions) {
    this.#options = options;
    this.#contentLeftMs = options.contentMs;
    const { signal } = options;
    this.signal = signal === undefined ? this.#own.signal : AbortSignal.any([signal, this.#own.signal]);
  }

  async next(events: AsyncIterator<StreamEvent>): Promise<IteratorResult<StreamEvent>> {
    this.signal.throwIfAborted();
    const { silenceMs, contentMs } = this.#options;
    const startedMs = performance.now();
    const silence = `The provider sent nothing for ${duration(silenceMs)}.`;
    const noContent = `The provider kept the connection open for ${duration(contentMs)} but sent no answer.`;
    this.#timer = silenceMs > 0 ? this.#stopAfter(silenceMs, silence) : undefined;
    const contentTimer = contentMs > 0 ? this.#stopAfter(this.#contentLeftMs, noContent) : undefined;
    try {
      // A provider's `next` may throw synchronously.
      const next = Promise.resolve().then(() => events.next());
      return await raceAbort(next, this.signal);
    } finally {
      clearTimeout(this.#timer);
      clearTimeout(contentTimer);
      this.#timer = undefined;
      this.#contentLeftMs -= performance.now() - startedMs;
    }
  }

  /** The provider sent a part of the answer. */
  content(): void {
    this.#contentLeftMs = this.#options.contentMs;
  }

  /** The provider gave a sign of life that is no event. */
  alive(): void {
    this.#timer?.refresh();
  }

  end(): void {
    this.#own.abort(new Error("The attempt is over."));
  }

  #stopAfter(ms: number, message: string): NodeJS.Timeout {
    const stop = () => this.#own.abort(new ProviderError({ kind: "silence", message }));
    return setTimeout(stop, Math.min(MAX_TIMER_MS, Math.max(0, ms)));
  }
}

/** Any character except blanks and invisible ones, such as a zero-width space. */
const VISIBLE = /[^\s\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/u;

/** Returns the failure of an answer without text and calls; undefined for other answers. */
export function emptyAnswer(
  { provider, id: modelId }: CatalogueModel,
  answer: AssistantMessage,
): ModelFailure | undefined {
  if (callsIn(answer).length > 0 || VISIBLE.test(messageText(answer))) return undefined;
  const failure = { kind: "other", code: "answer_empty", provider, modelId, retryOnce: true } as const;
  // The same cap would cut off the next answer too.
  if (answer.stopReason === "length") {
    const message = "The model reached its output limit before it wrote any text.";
    return { ...failure, message, retryable: false };
  }
  const hasThought = answer.content.some(({ type }) => type === "thinking");
  const message = hasThought
    ? "The model only produced thinking: its answer has no text and no tool call."
    : "The model's answer was empty.";
  return { ...failure, message, retryable: true };
}

/** Share of the window: a larger input that leaves no token for an answer has filled it. */
const FULL = 0.99;
/** As FULL, for an answer without any block: the server's window may be smaller than the known one. */
const LIKELY_FULL = 0.5;

/** Maximum ratio of an input that overflowed to the request's estimate. A larger count is wrong: no window was exceeded. */
const MAX_ESTIMATES = 1.5;

interface SilentOverflowOptions {
  model: CatalogueModel;
  answer: AssistantMessage;
  estimatedTokens?: number | undefined;
  /** The request's size, if the server read only a part of it. */
  cutOffTokens?: number | undefined;
}

/** Returns the failure of an overflow that the provider reported as a success; undefined for other answers. */
export function silentOverflow(options: SilentOverflowOptions): ModelFailure | undefined {
  const { model, answer, cutOffTokens } = options;
  const message = overflowReason(options);
  if (message === undefined) return undefined;
  const windowTokens = model.contextWindow ?? 0;
  const sentTokens = cutOffTokens ?? inputTokens(answer.usage);
  return {
    kind: "inputTooLong",
    message,
    provider: model.provider,
    modelId: model.id,
    retryable: false,
    ...(sentTokens > 0 && { inputTokens: sentTokens }),
    ...(windowTokens > 0 && { windowTokens }),
  };
}

function overflowReason(options: SilentOverflowOptions): string | undefined {
  const { model, answer, estimatedTokens = Number.POSITIVE_INFINITY, cutOffTokens } = options;
  const { usage, stopReason, rawStopReason } = answer;
  if (rawStopReason !== undefined && namesFullContext(rawStopReason))
    return "The answer ended because the context window was full.";
  const windowTokens = model.contextWindow ?? 0;
  if (windowTokens <= 0) return undefined;
  const window = count(windowTokens);
  if (cutOffTokens !== undefined)
    return `The request had ${tokensText(cutOffTokens, true)}, but the provider cut it to its context window of ${window} tokens.`;
  const sentTokens = inputTokens(usage);
  const isCut = stopReason === "length" && usage.output === 0;
  if (isCut && answer.content.length === 0 && sentTokens >= windowTokens * LIKELY_FULL)
    return "The server stopped for length before the first token: the request fills its context window.";
  const isFull = isCut && sentTokens >= windowTokens * FULL;
  const maxTokens = estimatedTokens * MAX_ESTIMATES + UNSEEN_INPUT_TOKENS;
  if (!isFull && (sentTokens <= windowTokens || sentTokens > maxTokens)) return undefined;
  return `The provider answered, but the request of ${count(sentTokens)} tokens fills the model's context window of ${window} tokens.`;
}

/** True if the provider withheld a part of the answer. */
export function isWithheld({ rawStopReason }: Pick<AssistantMessage, "rawStopReason">): boolean {
  return rawStopReason !== undefined && answerEnd(rawStopReason) === "withheld";
}

/** Limits of retries and waits. */
export interface RetryPolicy {
  /** Attempts after the first. Default 5. */
  maxRetries: number;
  /** Wait before the first retry. Doubles each time, with up to a quarter of jitter. Default 1,000. */
  baseDelayMs: number;
  /** Maximum wait. A longer `retry-after` ends the request with an error that names it. Default 60,000. */
  maxDelayMs: number;
  /** Ends a stream that sends nothing for this long. 0 waits for ever. Default 300,000. */
  silenceMs: number;
  /** Ends a stream without text, thinking and calls for this long, even with signs of life. 0 waits for ever. Default 600,000. */
  contentMs: number;
}

export const defaultRetryPolicy: RetryPolicy = {
  maxRetries: 5,
  baseDelayMs: 1_000,
  maxDelayMs: 60_000,
  silenceMs: 300_000,
  contentMs: 600_000,
};

/** The retries of one request. */
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

  next({
    retryable,
    retryOnce,
    retryAfterMs,
  }: ModelFailure): Pick<RetryNotice, "attempt" | "maxAttempts" | "delayMs"> | undefined {
    const { maxRetries, maxDelayMs } = this.#policy;
    if (!retryable || this.#used >= maxRetries || (retryAfterMs ?? 0) > maxDelayMs) return undefined;
    if (retryOnce && this.#usedOnce > 0) return undefined;
    this.#used += 1;
    if (retryOnce) this.#usedOnce += 1;
    const [attempt, maxAttempts] = retryOnce ? [1, 1] : [this.#used, maxRetries];
    return { attempt, maxAttempts, delayMs: Math.round(retryAfterMs || this.#backoffMs()) };
  }

  /** Returns the final failure. Its message names the wait or the number of attempts. */
  finalFailure(failure: ModelFailure): ModelFailure {
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
