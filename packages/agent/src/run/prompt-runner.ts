import { BonsaiError, type Message } from "@bonsai-agent/messages";
import type { CustomInput, PromptInput, RunResult, StreamingBehavior } from "../events.ts";
import type { AbortGrace, AgentParts } from "./agent-parts.ts";
import { appendQueued } from "./answer.ts";
import type { RunCompactions } from "./compactions.ts";
import { isMessage, type Queued, type QueuedInput, type SendMessageOptions } from "./queue.ts";
import { type RunStart, run } from "./run.ts";

interface PromptRunnerOptions {
  parts: AgentParts;
  compaction: RunCompactions;
  /** Called after each run, with its messages. */
  onEnd: (messages: () => readonly Message[], result: RunResult) => void;
}

/** Takes texts and messages: each starts a run, joins the current one, or waits for the end of other work. */
export class PromptRunner {
  readonly activity: Activity;
  readonly #options: PromptRunnerOptions;
  /** The current run, while it still takes texts. */
  #currentRun: Promise<RunResult> | undefined;
  /** The run that starts after the current work. */
  #nextRun: PromiseWithResolvers<RunResult> | undefined;

  constructor(options: PromptRunnerOptions) {
    this.#options = options;
    this.activity = new Activity(options.parts.abortGrace, (ended) => this.#ended(ended));
  }

  /** Rejects with `agent_busy` during a run if there is no behavior. */
  async prompt(input: PromptInput, behavior: StreamingBehavior | undefined): Promise<RunResult> {
    const { parts } = this.#options;
    const { kind } = this.activity;
    if (kind === undefined) return this.#start(input);
    if (kind === "run" && behavior === undefined) throw agentBusyError(kind);
    parts.queue.add({ ...input, behavior: behavior ?? "steer" });
    return parts.handlerCalls.awaited(this.#currentRun ?? this.#awaitNextRun(), { status: "queued" });
  }

  /** Returns undefined if the message is stored, or waits, without a run to wait for. */
  async send(
    message: CustomInput,
    { triggerTurn, deliverAs = "steer" }: SendMessageOptions,
  ): Promise<RunResult | undefined> {
    const { parts } = this.#options;
    const isIdle = this.activity.kind === undefined;
    if (isIdle && triggerTurn && deliverAs !== "nextTurn") return this.#start({ message });
    parts.queue.add({ message, behavior: deliverAs, triggerTurn });
    if (deliverAs === "nextTurn") return undefined;
    if (isIdle) return this.#store();
    const joined = triggerTurn === false ? undefined : this.#currentRun;
    const awaited = joined ?? (triggerTurn ? this.#awaitNextRun() : undefined);
    return awaited && parts.handlerCalls.awaited(awaited, { status: "queued" });
  }

  #awaitNextRun(): Promise<RunResult> {
    this.#nextRun ??= Promise.withResolvers();
    return this.#nextRun.promise;
  }

  /** Removes and returns the waiting texts. Callers that wait for the next run get `aborted`. */
  clear(): QueuedInput[] {
    const { queue } = this.#options.parts;
    const cleared = queue.clear();
    if (queue.isEmpty) {
      this.#nextRun?.resolve({ status: "aborted" });
      this.#nextRun = undefined;
    }
    return cleared;
  }

  /** Continues with a requested compaction, else with a run for the oldest input. After an abort, it only stores messages. */
  #ended({ aborted }: { aborted: boolean }): void {
    const { compaction, parts } = this.#options;
    if (aborted) compaction.cancelRequested();
    if (compaction.hasRequest) {
      void this.activity.begin("compaction", (signal) => compaction.runRequested(signal));
      return;
    }
    const first = aborted ? undefined : parts.queue.next("start");
    const following = this.#nextRun;
    this.#nextRun = undefined;
    const started = first && this.#start(startOf(first));
    following?.resolve(started ?? { status: "aborted", ...this.#unsent() });
    if (started === undefined && parts.queue.hasMessages) void this.#store();
  }

  async #store(): Promise<undefined> {
    const { parts } = this.#options;
    await this.activity.begin("message", () => appendQueued(parts, () => parts.queue.next("abort")));
  }

  #start(start: RunStart): Promise<RunResult> {
    const result = this.activity.begin("run", (signal) => this.#runs(start, signal));
    this.#currentRun = result;
    return result;
  }

  /** One run, and another for each text that came too late for the one before. */
  async #runs(first: RunStart, signal: AbortSignal): Promise<RunResult> {
    const { parts, compaction, onEnd } = this.#options;
    const { queue } = parts;
    let start: RunStart | undefined = first;
    let result: RunResult;
    await appendQueued(parts, () => queue.next("store"));
    do {
      result = await run({ parts, compaction, start, signal, onEnd });
      const isOver = () => !["done", "handled", "paused"].includes(result.status) || signal.aborted;
      await appendQueued(parts, () => queue.next(isOver() ? "abort" : "store"));
      if (!signal.aborted) await compaction.runRequested(signal);
      const next = isOver() ? undefined : queue.next("start");
      start = next && startOf(next);
    } while (start !== undefined);
    // From here on, a text starts the next run.
    this.#currentRun = undefined;
    return { ...result, ...this.#unsent(result.unsent) };
  }

  #unsent(more: readonly PromptInput[] = []): { unsent?: readonly PromptInput[] } {
    const unsent = [...more, ...this.#options.parts.queue.clear()];
    return unsent.length === 0 ? {} : { unsent };
  }
}

function startOf(queued: Queued): RunStart {
  if (isMessage(queued)) return { message: queued.message };
  const { behavior: _, ...input } = queued;
  return input;
}

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
    this.#current = { kind, abort, signal, ended: ended.promise };
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
