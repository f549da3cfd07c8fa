import { AsyncLocalStorage } from "node:async_hooks";
import { BonsaiError } from "@bonsai-agent/messages";

/** What an agent can be at. */
export type ActivityKind = "run" | "compaction" | "navigation" | "command" | "message";

interface Current {
  kind: ActivityKind;
  abort: AbortController;
  signal: AbortSignal;
  /** Never rejects. */
  ended: Promise<unknown>;
}

/** Owner of what the agent is doing: one thing at a time. */
export class Activity {
  readonly #gracePeriod: GracePeriod;
  readonly #onIdle: (ended: { aborted: boolean }) => void;
  #current: Current | undefined;

  /** @param onIdle called at the very moment when something has ended, before anybody else learns of it. */
  constructor(gracePeriod: GracePeriod, onIdle: (ended: { aborted: boolean }) => void) {
    this.#gracePeriod = gracePeriod;
    this.#onIdle = onIdle;
  }

  get kind(): ActivityKind | undefined {
    return this.#current?.kind;
  }

  /** Of what is going on: aborted when it is stopped. */
  get signal(): AbortSignal | undefined {
    return this.#current?.signal;
  }

  /**
   * Does something that nothing else may go on beside.
   * @param outer aborts it too.
   * @throws BonsaiError `agent_busy`, as a rejection.
   */
  async begin<Result>(
    kind: ActivityKind,
    work: (signal: AbortSignal) => Promise<Result>,
    outer?: AbortSignal,
  ): Promise<Result> {
    if (this.#current !== undefined) throw busyWith(this.#current.kind);
    const ended = Promise.withResolvers<void>();
    const abort = new AbortController();
    const current: Current = { kind, abort, signal: abort.signal, ended: ended.promise };
    this.#current = current;
    this.#gracePeriod.reset();
    const sources = outer === undefined ? [abort.signal] : [abort.signal, outer];
    try {
      return await withLinkedSignal(sources, (own) => {
        current.signal = own.signal;
        return work(own.signal);
      });
    } finally {
      this.#current = undefined;
      this.#gracePeriod.reset();
      ended.resolve();
      this.#onIdle({ aborted: abort.signal.aborted });
    }
  }

  /** Stops what is going on; resolves when it has ended. While nothing is, handlers that hang are waited for no longer. */
  async abort(): Promise<void> {
    const current = this.#current;
    if (current === undefined) return this.#gracePeriod.expire();
    this.#gracePeriod.begin();
    current.abort.abort(new Error("The user stopped the work."));
    await current.ended;
  }

  /** Resolves when nothing is going on. */
  async idle(): Promise<void> {
    while (this.#current !== undefined) await this.#current.ended;
  }
}

const descriptions: Record<ActivityKind, string> = {
  run: "working",
  compaction: "compacting its context",
  navigation: "moving to another entry of the session",
  command: "running your command",
  message: "storing an extension's message",
};

export function busyWith(kind: ActivityKind): BonsaiError {
  return new BonsaiError({
    code: "agent_busy",
    message: `The agent is ${descriptions[kind]}.`,
    hint: "Wait until the agent is ready, steer it, queue the text as a follow-up, or abort first.",
  });
}

/** How long handlers and tools have to end once the work was stopped. */
const GRACE_MS = 5_000;

/**
 * Owner of the signal that says when nobody waits any longer: never while the agent works, a while after it was
 * stopped. A handler or a tool that hangs then cannot keep the agent busy.
 */
export class GracePeriod {
  #over = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  /** Aborted when handlers and tools are waited for no longer. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** The work was stopped: a little time is left. */
  begin(): void {
    clearTimeout(this.#timer);
    const over = this.#over;
    const reason = `It was still running ${GRACE_MS / 1_000} seconds after the stop.`;
    this.#timer = setTimeout(() => over.abort(new Error(reason)), GRACE_MS);
  }

  /** The handlers of now are waited for no longer, at once. */
  expire(): void {
    this.#over.abort(new Error("The user stopped waiting."));
    this.reset();
  }

  /** One more event is to be handled: where no time was left, there is a little anew. */
  extend(): void {
    if (!this.#over.signal.aborted) return;
    this.reset();
    this.begin();
  }

  /** Something new begins. */
  reset(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#over.signal.aborted) this.#over = new AbortController();
  }
}

/**
 * Knows which calls come from within: from handlers and tools that somebody (the agent, a reload) waits for. If they
 * waited for that in turn, both would wait for ever.
 */
export class AwaitedCalls {
  readonly #calls = new AsyncLocalStorage<{ hasEnded: boolean }>();

  /** Calls what is waited for. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const call = { hasEnded: false };
    try {
      return await this.#calls.run(call, work);
    } finally {
      call.hasEnded = true;
    }
  }

  /** True for a caller that is waited for. */
  get isInside(): boolean {
    return this.#calls.getStore()?.hasEnded === false;
  }

  /** The promise; for a caller that is waited for, and goes on to wait for it, `instead`. */
  async awaited<Result>(promise: Promise<Result>, instead: Result): Promise<Result> {
    const call = this.#calls.getStore();
    if (call === undefined) return promise;
    // Most handlers have ended by then, and whoever has kept the promise gets what it promises.
    const later = new Promise<void>((resolve) => setImmediate(resolve));
    return Promise.race([promise, later.then(() => (call.hasEnded ? promise : instead))]);
  }
}

/**
 * Runs work under a signal of its own that also aborts when the outer one does. Nothing stays on the outer signal
 * afterwards, whatever the work has hung on its own: a run's signal lives for hours.
 */
export async function withLinkedSignal<Result>(
  outer: AbortSignal | readonly AbortSignal[],
  work: (own: AbortController) => Promise<Result>,
): Promise<Result> {
  const sources = Array.isArray(outer) ? (outer as readonly AbortSignal[]) : [outer as AbortSignal];
  const own = new AbortController();
  const listeners = sources.map((source) => {
    const onAbort = () => own.abort(source.reason);
    if (source.aborted) onAbort();
    else source.addEventListener("abort", onAbort, { once: true });
    return () => source.removeEventListener("abort", onAbort);
  });
  try {
    return await work(own);
  } finally {
    for (const remove of listeners) remove();
  }
}

/** The promise, or a rejection with the signal's reason once that aborts. Leaves nothing on the signal. */
export async function untilAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
