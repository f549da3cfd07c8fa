import type { Message } from "@bonsai-agent/messages";
import type { AgentParts } from "../agent-parts.ts";
import { type Activity, busyWith } from "./activity.ts";
import { storeWaiting } from "./answer.ts";
import type { CompactionTriggers } from "./compaction-triggers.ts";
import {
  type CustomInput,
  isMessage,
  type PromptInput,
  type Queued,
  type QueuedInput,
  type RunResult,
  type SendMessageOptions,
  type StreamingBehavior,
} from "./input.ts";
import { type RunStart, run } from "./run.ts";

interface PromptingOptions {
  parts: AgentParts;
  compaction: CompactionTriggers;
  activity: Activity;
  /** Called after each run, with what it added. */
  onEnd: (messages: () => readonly Message[], result: RunResult) => void;
}

/** What becomes of a text or a message: it starts a run, joins the run under way, or waits until something has ended. */
export class Prompting {
  readonly #options: PromptingOptions;
  /** The run under way, while it still takes texts. */
  #joinable: Promise<RunResult> | undefined;
  /** The run that begins when what is going on has ended. */
  #following: PromiseWithResolvers<RunResult> | undefined;

  constructor(options: PromptingOptions) {
    this.#options = options;
  }

  /** Rejects with `agent_busy` where a run is under way and nobody says how the text is to be delivered. */
  async prompt(input: PromptInput, behavior: StreamingBehavior | undefined): Promise<RunResult> {
    const { activity, parts } = this.#options;
    const { kind } = activity;
    if (kind === undefined) return this.#start(input);
    if (kind === "run" && behavior === undefined) throw busyWith(kind);
    parts.queue.add({ ...input, behavior: behavior ?? "steer" });
    return parts.awaitedCalls.awaited(this.#joinable ?? this.#followed(), { status: "queued" });
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
    const joined = triggerTurn === false ? undefined : this.#joinable;
    const awaited = joined ?? (triggerTurn ? this.#followed() : undefined);
    return awaited && parts.awaitedCalls.awaited(awaited, { status: "queued" });
  }

  #followed(): Promise<RunResult> {
    this.#following ??= Promise.withResolvers();
    return this.#following.promise;
  }

  /** Takes back the texts that wait; whoever awaits a run that would have followed gets `aborted`. */
  clear(): QueuedInput[] {
    const { queue } = this.#options.parts;
    const cleared = queue.clear();
    if (queue.isEmpty) {
      this.#following?.resolve({ status: "aborted" });
      this.#following = undefined;
    }
    return cleared;
  }

  /**
   * Something has ended: a compaction that was asked for comes first; then what waited longest becomes the prompt, and
   * the others are delivered as they asked. After an abort nothing begins, and messages are stored.
   */
  ended({ aborted }: { aborted: boolean }): void {
    const { compaction, activity, parts } = this.#options;
    if (aborted) compaction.dropAsked();
    if (compaction.isAsked) {
      void activity.begin("compaction", (signal) => compaction.carryOutAsked(signal));
      return;
    }
    const first = aborted ? undefined : parts.queue.next("start");
    const following = this.#following;
    this.#following = undefined;
    const started = first && this.#start(startOf(first));
    following?.resolve(started ?? { status: "aborted", ...this.#unsent() });
    if (started === undefined && parts.queue.hasMessages) void this.#store();
  }

  async #store(): Promise<undefined> {
    const { activity, parts } = this.#options;
    await activity.begin("message", () => storeWaiting(parts, () => parts.queue.next("abort")));
  }

  #start(start: RunStart): Promise<RunResult> {
    const result = this.#options.activity.begin("run", (signal) => this.#runs(start, signal));
    this.#joinable = result;
    return result;
  }

  /** A run, and another for each text that came too late for the one before. */
  async #runs(first: RunStart, signal: AbortSignal): Promise<RunResult> {
    const { parts, compaction, onEnd } = this.#options;
    const { queue } = parts;
    let start: RunStart | undefined = first;
    let result: RunResult;
    await storeWaiting(parts, () => queue.next("store"));
    do {
      result = await run({ parts, compaction, start, signal, onEnd });
      const isOver = () => !mayFollow(result) || signal.aborted;
      await storeWaiting(parts, () => queue.next(isOver() ? "abort" : "store"));
      if (!signal.aborted) await compaction.carryOutAsked(signal);
      const next = isOver() ? undefined : queue.next("start");
      start = next && startOf(next);
    } while (start !== undefined);
    // From here on nobody takes a text from the queue: one that comes now starts the next run.
    this.#joinable = undefined;
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
