import type { AnswerBuilder } from "./answer-builder.ts";
import { type Provider, type ProviderCall, ProviderError } from "./provider.ts";
import type { StreamEvent } from "./stream-event.ts";

export interface AttemptOptions {
  provider: Provider;
  call: Omit<ProviderCall, "signal" | "onAlive">;
  answer: AnswerBuilder;
  /** Ends the attempt at once, whether the provider heeds it or not. */
  signal: AbortSignal | undefined;
  /** 0 waits for ever. */
  silenceMs: number;
}

type Delta = Extract<StreamEvent, { type: "text" | "thinking" | "tool_call" }>;

/**
 * One attempt: what the provider yields, as it comes. Throws what the provider throws, the signal's reason after an
 * abort, and a ProviderError where nothing came for too long or the answer ended inside a call.
 */
export async function* attempt(options: AttemptOptions): AsyncGenerator<Delta, void, void> {
  const { provider, call, answer, signal } = options;
  const own = new AbortController();
  const watch = new Watch(options, own);
  let isDone = false;
  let events: AsyncIterator<StreamEvent> | undefined;
  try {
    signal?.throwIfAborted();
    const watched: ProviderCall = { ...call, onAlive: () => watch.alive(), signal: own.signal };
    events = provider.stream(watched, answer)[Symbol.asyncIterator]();
    for (;;) {
      const next: unknown = await watch.next(events);
      if (!isResult(next))
        throw new TypeError("The provider's stream gave something that is no step of a stream.");
      isDone = next.done === true;
      if (isDone) break;
      if (isDelta(next.value)) yield next.value;
    }
    if (answer.hasOpenCall) {
      throw new ProviderError({ kind: "cut", message: "The answer ended in the middle of a tool call." });
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
  const type = (event as Partial<StreamEvent> | null | undefined)?.type;
  return type === "text" || type === "thinking" || type === "tool_call";
}

/** Waits for a provider, but not for ever. Owner of the timer and of the listener on the caller's signal. */
class Watch {
  readonly #options: AttemptOptions;
  readonly #own: AbortController;
  #timer: NodeJS.Timeout | undefined;
  #giveUp: ((reason: unknown) => void) | undefined;
  readonly #onAbort = () => this.#stop(this.#options.signal?.reason);

  constructor(options: AttemptOptions, own: AbortController) {
    this.#options = options;
    this.#own = own;
    options.signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  next(events: AsyncIterator<StreamEvent>): Promise<IteratorResult<StreamEvent>> {
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      if (this.#options.signal?.aborted) this.#onAbort();
      this.#startTimer();
      // Through a promise: a provider's `next` may throw at once.
      Promise.resolve()
        .then(() => events.next())
        .then(resolve, reject)
        .finally(() => this.#stopTimer());
    });
  }

  /** A sign of life that is no event; while nobody waits for one, nobody is silent. */
  alive(): void {
    this.#timer?.refresh();
  }

  end(): void {
    this.#stopTimer();
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
  }

  #startTimer(): void {
    const { silenceMs } = this.#options;
    if (silenceMs <= 0) return;
    this.#stopTimer();
    this.#timer = setTimeout(() => {
      const message = `Nothing came from the provider for ${Math.ceil(silenceMs / 1_000)} s.`;
      this.#stop(new ProviderError({ kind: "silence", message }));
    }, silenceMs);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #stop(reason: unknown): void {
    this.#giveUp?.(reason);
    this.#own.abort(reason);
  }
}
