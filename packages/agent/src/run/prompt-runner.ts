import type { Message } from "@bonsai-agent/messages";
import type { AgentParts } from "../agent-parts.ts";
import { type Activity, agentBusyError } from "./activity.ts";
import { appendQueued } from "./answer.ts";
import type { RunCompactions } from "./compactions.ts";
import {
  type CustomInput,
  isMessage,
  type PromptInput,
  type Queued,
  type QueuedInput,
  type RunResult,
  type SendMessageOptions,
  type StreamingBehavior,
} from "./queue.ts";
import { type RunStart, run } from "./run.ts";

interface PromptRunnerOptions {
  parts: AgentParts;
  compaction: RunCompactions;
  activity: Activity;
  /** Called after each run, with what it added. */
  onEnd: (messages: () => readonly Message[], result: RunResult) => void;
}

/** Takes texts and messages: each starts a run, joins the current one, or waits for the end of other work. */
export class PromptRunner {
  readonly #options: PromptRunnerOptions;
  /** The run under way, while it still takes texts. */
  #currentRun: Promise<RunResult> | undefined;
  /** The run that begins when what is going on has ended. */
  #nextRun: PromiseWithResolvers<RunResult> | undefined;

  constructor(options: PromptRunnerOptions) {
    this.#options = options;
  }

  /** Rejects with `agent_busy` where a run is under way and nobody says how the text is to be delivered. */
  async prompt(input: PromptInput, behavior: StreamingBehavior | undefined): Promise<RunResult> {
    const { activity, parts } = this.#options;
    const { kind } = activity;
    if (kind === undefined) return this.#start(input);
    if (kind === "run" && behavior === undefined) throw agentBusyError(kind);
    parts.queue.add({ ...input, behavior: behavior ?? "steer" });
    return parts.handlerCalls.awaited(this.#currentRun ?? this.#awaitNextRun(), { status: "queued" });
  }

  /** Undefined where no run is to be waited for: the message is stored, or waits for one. */
  async send(
    message: CustomInput,
    { triggerTurn, deliverAs = "steer" }: SendMessageOptions,
  ): Promise<RunResult | undefined> {
    const { activity, parts } = this.#options;
    const isIdle = activity.kind === undefined;
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

  /** Takes back the texts that wait; whoever awaits a run that would have followed gets `aborted`. */
  clear(): QueuedInput[] {
    const { queue } = this.#options.parts;
    const cleared = queue.clear();
    if (queue.isEmpty) {
      this.#nextRun?.resolve({ status: "aborted" });
      this.#nextRun = undefined;
    }
    return cleared;
  }

  /**
   * Something has ended: a compaction that was asked for comes first; then what waited longest becomes the prompt, and
   * the others are delivered as they asked. After an abort nothing begins, and messages are stored.
   */
  ended({ aborted }: { aborted: boolean }): void {
    const { compaction, activity, parts } = this.#options;
    if (aborted) compaction.cancelRequested();
    if (compaction.hasRequest) {
      void activity.begin("compaction", (signal) => compaction.runRequested(signal));
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
    const { activity, parts } = this.#options;
    await activity.begin("message", () => appendQueued(parts, () => parts.queue.next("abort")));
  }

  #start(start: RunStart): Promise<RunResult> {
    const result = this.#options.activity.begin("run", (signal) => this.#runs(start, signal));
    this.#currentRun = result;
    return result;
  }

  /** A run, and another for each text that came too late for the one before. */
  async #runs(first: RunStart, signal: AbortSignal): Promise<RunResult> {
    const { parts, compaction, onEnd } = this.#options;
    const { queue } = parts;
    let start: RunStart | undefined = first;
    let result: RunResult;
    await appendQueued(parts, () => queue.next("store"));
    do {
      result = await run({ parts, compaction, start, signal, onEnd });
      const isOver = () => !mayFollow(result) || signal.aborted;
      await appendQueued(parts, () => queue.next(isOver() ? "abort" : "store"));
      if (!signal.aborted) await compaction.runRequested(signal);
      const next = isOver() ? undefined : queue.next("start");
      start = next && startOf(next);
    } while (start !== undefined);
    // From here on nobody takes a text from the queue: one that comes now starts the next run.
    this.#currentRun = undefined;
    return { ...result, ...this.#unsent(result.unsent) };
  }

  #unsent(more: readonly PromptInput[] = []): { unsent?: readonly PromptInput[] } {
    const unsent = [...more, ...this.#options.parts.queue.clear()];
    return unsent.length === 0 ? {} : { unsent };
  }
}

/** Without the behavior: what a run begins with no longer waits. */
function startOf(queued: Queued): RunStart {
  if (isMessage(queued)) return { message: queued.message };
  const { behavior: _, ...input } = queued;
  return input;
}

/** False where what waits is not to begin another run. */
function mayFollow({ status }: RunResult): boolean {
  return status === "done" || status === "handled" || status === "paused";
}
