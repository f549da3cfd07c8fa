import { count, duration } from "@bonsai-agent/messages/numbers";
import type { AnswerBuilder } from "../answer-builder.ts";
import { TOO_LARGE } from "../failure/failure.ts";
import type { StreamEvent } from "../model-request.ts";
import { type Provider, type ProviderCall, ProviderError } from "../provider.ts";

interface AttemptOptions {
  provider: Provider;
  call: Omit<ProviderCall, "signal" | "onAlive">;
  answer: AnswerBuilder;
  /** Ends the attempt at once, whether the provider heeds it or not. */
  signal: AbortSignal | undefined;
  /** 0 waits for ever, as below. */
  silenceMs: number;
  /** Without text, thinking or a call. */
  contentMs: number;
}

/** An answer of the largest output cap has a tenth of it: what goes on behind this has lost its senses. */
const MAX_ANSWER_CHARS = 8_000_000;
/** Calls, texts and thoughts. */
const MAX_ANSWER_BLOCKS = 500;

type Delta = Extract<StreamEvent, { type: "text" | "thinking" | "tool_call" }>;

/**
 * One attempt: what the provider yields, as it comes. Throws what the provider throws, the signal's reason after an
 * abort, and a ProviderError where nothing came for too long, too much came, or the answer ended inside a call.
 */
export async function* attempt(options: AttemptOptions): AsyncGenerator<Delta, void, void> {
  const { provider, call, answer, signal } = options;
  const own = new AbortController();
  const watch = new Watch(options, own);
  let chars = 0;
  let isDone = false;
  let events: AsyncIterator<StreamEvent> | undefined;
  try {
    signal?.throwIfAborted();
    const watched: ProviderCall = { ...call, onAlive: () => watch.alive(), signal: own.signal };
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
    own.abort(new Error("The attempt is over."));
    if (!isDone) leave(events);
  }
}

/** Not awaited: a provider that is stuck would hold the caller too. */
function leave(events: AsyncIterator<StreamEvent> | undefined): void {
  Promise.resolve()
    .then(() => events?.return?.())
    .catch(() => {
      // What a provider says while it is being left is of no use to anybody.
    });
}

/** As `for await` has it; taken as a step, anything else would be one of many without end. */
function isResult(next: unknown): next is IteratorResult<StreamEvent> {
  return typeof next === "object" && next !== null;
}

/** The beginning and the end of a stream are not the provider's to tell. */
function isDelta(event: unknown): event is Delta {
  const { type, delta } = (event ?? {}) as Partial<Delta>;
  return (type === "text" || type === "thinking" || type === "tool_call") && typeof delta === "string";
}

/** False for a piece without a character, which a server may send for ever. */
function hasContent(event: Delta): boolean {
  return event.delta !== "" || (event.type === "tool_call" && event.toolCall !== undefined);
}

function refuseTooMuch(chars: number, blocks: number): void {
  if (chars <= MAX_ANSWER_CHARS && blocks <= MAX_ANSWER_BLOCKS) return;
  const what =
    chars > MAX_ANSWER_CHARS
      ? `${count(MAX_ANSWER_CHARS)} characters`
      : `${MAX_ANSWER_BLOCKS} text blocks and tool calls`;
  throw new ProviderError({
    kind: "excess",
    code: TOO_LARGE,
    message: `The answer was too long: the server sent more than ${what}.`,
  });
}

/** A longer timer would end at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Waits for a provider, but not for ever. Owner of the timers and of the listener on the caller's signal. What whoever
 * reads the stream takes of time is not the provider's.
 */
class Watch {
  readonly #options: AttemptOptions;
  readonly #own: AbortController;
  #timer: NodeJS.Timeout | undefined;
  #contentTimer: NodeJS.Timeout | undefined;
  #contentLeftMs: number;
  #giveUp: ((reason: unknown) => void) | undefined;
  readonly #onAbort = () => this.#stop(this.#options.signal?.reason);

  constructor(options: AttemptOptions, own: AbortController) {
    this.#options = options;
    this.#own = own;
    this.#contentLeftMs = options.contentMs;
    options.signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  next(events: AsyncIterator<StreamEvent>): Promise<IteratorResult<StreamEvent>> {
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      if (this.#options.signal?.aborted) this.#onAbort();
      this.#startTimers();
      const startedMs = performance.now();
      // Through a promise: a provider's `next` may throw at once.
      Promise.resolve()
        .then(() => events.next())
        .then(resolve, reject)
        .finally(() => {
          this.#stopTimers();
          this.#contentLeftMs -= performance.now() - startedMs;
        });
    });
  }

  /** Something of the answer came. */
  content(): void {
    this.#contentLeftMs = this.#options.contentMs;
  }

  /** A sign of life that is no event; while nobody waits for one, nobody is silent. */
  alive(): void {
    this.#timer?.refresh();
  }

  end(): void {
    this.#stopTimers();
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
  }

  #startTimers(): void {
    this.#stopTimers();
    const { silenceMs, contentMs } = this.#options;
    if (silenceMs > 0) {
      const message = `The provider sent nothing for ${duration(silenceMs)}.`;
      this.#timer = this.#timerFor(silenceMs, message);
    }
    if (contentMs > 0) {
      const message = `The provider kept the connection open for ${duration(contentMs)} but sent no answer.`;
      this.#contentTimer = this.#timerFor(this.#contentLeftMs, message);
    }
  }

  #timerFor(ms: number, message: string): NodeJS.Timeout {
    const stop = () => this.#stop(new ProviderError({ kind: "silence", message }));
    return setTimeout(stop, Math.min(MAX_TIMER_MS, Math.max(0, ms)));
  }

  #stopTimers(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#contentTimer);
    this.#timer = undefined;
    this.#contentTimer = undefined;
  }

  #stop(reason: unknown): void {
    this.#giveUp?.(reason);
    this.#own.abort(reason);
  }
}
