import { AsyncLocalStorage } from "node:async_hooks";
import { BonsaiError } from "@bonsai-agent/messages";

/** Kinds of work, one at a time. */
export type ActivityKind = "run" | "compaction" | "navigation" | "command" | "message";

interface Current {
  kind: ActivityKind;
  abort: AbortController;
  signal: AbortSignal;
  /** Never rejects. */
  ended: Promise<unknown>;
}

/** Runs one piece of work at a time. */
export class Activity {
  readonly #grace: AbortGrace;
  readonly #onIdle: (ended: { aborted: boolean }) => void;
  #current: Current | undefined;

  /** @param onIdle called as soon as work has ended, before its promise settles */
  constructor(grace: AbortGrace, onIdle: (ended: { aborted: boolean }) => void) {
    this.#grace = grace;
    this.#onIdle = onIdle;
  }

  get kind(): ActivityKind | undefined {
    return this.#current?.kind;
  }

  /** The signal of the current work. */
  get signal(): AbortSignal | undefined {
    return this.#current?.signal;
  }

  /**
   * Runs work, alone.
   * @param outer aborts the work too
   * @throws BonsaiError `agent_busy`, as a rejection
   */
  async begin<Result>(
    kind: ActivityKind,
    work: (signal: AbortSignal) => Promise<Result>,
    outer?: AbortSignal,
  ): Promise<Result> {
    if (this.#current !== undefined) throw agentBusyError(this.#current.kind);
    const ended = Promise.withResolvers<void>();
    const abort = new AbortController();
    const signal = outer === undefined ? abort.signal : AbortSignal.any([abort.signal, outer]);
    const current: Current = { kind, abort, signal, ended: ended.promise };
    this.#current = current;
    this.#grace.reset();
    try {
      return await work(signal);
    } finally {
      this.#current = undefined;
      this.#grace.reset();
      ended.resolve();
      this.#onIdle({ aborted: abort.signal.aborted });
    }
  }

  /** Stops the work and waits for its end. Without work, stops waiting for hanging handlers. */
  async abort(): Promise<void> {
    const current = this.#current;
    if (current === undefined) return this.#grace.expire();
    this.#grace.begin();
    current.abort.abort(new Error("The user stopped the work."));
    await current.ended;
  }

  /** Resolves when there is no work. */
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

export function agentBusyError(kind: ActivityKind): BonsaiError {
  return new BonsaiError({
    code: "agent_busy",
    message: `The agent is ${descriptions[kind]}.`,
    hint: "Wait until the agent is ready, steer it, queue the text as a follow-up, or abort first.",
  });
}

/** Time that handlers and tools have to end after an abort. */
const GRACE_MS = 5_000;

/** Aborts its signal some time after the work was stopped: a hanging handler or tool cannot keep the agent busy. */
export class AbortGrace {
  #over = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  /** Aborted when the agent no longer waits for handlers and tools. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Starts the timer: the work was stopped. */
  begin(): void {
    clearTimeout(this.#timer);
    const over = this.#over;
    const reason = `It was still running ${GRACE_MS / 1_000} seconds after the stop.`;
    this.#timer = setTimeout(() => over.abort(new Error(reason)), GRACE_MS);
  }

  /** Stops waiting for the current handlers at once. */
  expire(): void {
    this.#over.abort(new Error("The user stopped waiting."));
    this.reset();
  }

  /** Restarts the timer for one more event, if it has run out. */
  extend(): void {
    if (!this.#over.signal.aborted) return;
    this.reset();
    this.begin();
  }

  /** Stops the timer: new work begins. */
  reset(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#over.signal.aborted) this.#over = new AbortController();
  }
}

/**
 * Detects calls from handlers and tools that a caller (the agent, a reload) waits for. If they waited for that caller in
 * turn, both would wait for ever.
 */
export class HandlerCalls {
  readonly #calls = new AsyncLocalStorage<{ hasEnded: boolean }>();

  /** Runs a handler or a tool. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const call = { hasEnded: false };
    try {
      return await this.#calls.run(call, work);
    } finally {
      call.hasEnded = true;
    }
  }

  /** True for code that runs inside a handler or a tool. */
  get isInside(): boolean {
    return this.#calls.getStore()?.hasEnded === false;
  }

  /** Returns the promise, or `instead` to a handler or tool that waits for it. */
  async awaited<Result>(promise: Promise<Result>, instead: Result): Promise<Result> {
    const call = this.#calls.getStore();
    if (call === undefined) return promise;
    // Most handlers have ended by then: a promise that they kept settles as usual.
    const later = new Promise<void>((resolve) => setImmediate(resolve));
    return Promise.race([promise, later.then(() => (call.hasEnded ? promise : instead))]);
  }
}
