import { BonsaiError } from "@bonsai-agent/messages";
import { withLinkedSignal } from "./linked-signal.ts";
import type { Patience } from "./patience.ts";

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
  readonly #patience: Patience;
  readonly #onIdle: (ended: { aborted: boolean }) => void;
  #current: Current | undefined;

  /** @param onIdle called at the very moment when something has ended, before anybody else learns of it. */
  constructor(patience: Patience, onIdle: (ended: { aborted: boolean }) => void) {
    this.#patience = patience;
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
    this.#patience.renew();
    const sources = outer === undefined ? [abort.signal] : [abort.signal, outer];
    try {
      return await withLinkedSignal(sources, (own) => {
        current.signal = own.signal;
        return work(own.signal);
      });
    } finally {
      this.#current = undefined;
      this.#patience.renew();
      ended.resolve();
      this.#onIdle({ aborted: abort.signal.aborted });
    }
  }

  /** Stops what is going on; resolves when it has ended. While nothing is, leaves who was told something and hangs. */
  async abort(): Promise<void> {
    const current = this.#current;
    if (current === undefined) return this.#patience.leave();
    this.#patience.wane();
    current.abort.abort(new Error("The user stopped the work."));
    await current.ended;
  }

  /** Resolves when nothing is going on. */
  async idle(): Promise<void> {
    while (this.#current !== undefined) await this.#current.ended;
  }
}

const doings: Record<ActivityKind, string> = {
  run: "at work",
  compaction: "compacting its context",
  navigation: "moving to another place of the session",
  command: "running a command of yours",
  message: "storing a message of an extension",
};

export function busyWith(kind: ActivityKind): BonsaiError {
  return new BonsaiError({
    code: "agent_busy",
    message: `The agent is ${doings[kind]}.`,
    hint: "Wait until it has ended, steer it, queue the text as a follow-up, or abort first.",
  });
}
