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
  /** Called after each run, with its messages. */
  onEnd: (messages: () => readonly Message[], result: RunResult) => void;
}

/** Takes texts and messages: each starts a run, joins the current one, or waits for the end of other work. */
export class PromptRunner {
  readonly #options: PromptRunnerOptions;
  /** The current run, while it still takes texts. */
  #currentRun: Promise<RunResult> | undefined;
  /** The run that starts after the current work. */
  #nextRun: PromiseWithResolvers<RunResult> | undefined;

  constructor(options: PromptRunnerOptions) {
    this.#options = options;
  }

  /** Rejects with `agent_busy` during a run if there is no behavior. */
  async prompt(input: PromptInput, behavior: StreamingBehavior | undefined): Promise<RunResult> {
    const { activity, parts } = this.#options;
    const { kind } = activity;
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

  /**
   * Continues after the end of work: with a requested compaction, else with a run for the oldest waiting input.
   * After an abort, it only stores messages.
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

  /** One run, and another for each text that came too late for the one before. */
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

/** True if a waiting text may start another run. */
function mayFollow({ status }: RunResult): boolean {
  return status === "done" || status === "handled" || status === "paused";
}
