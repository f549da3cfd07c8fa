import type { Message } from "@bonsai-agent/messages";
import type { Workplace } from "../workplace.ts";
import { type Activity, busyWith } from "./activity.ts";
import type { CompactionTriggers } from "./compaction-triggers.ts";
import type { PromptInput, QueuedInput, StreamingBehavior } from "./prompt-input.ts";
import { run } from "./run.ts";
import type { RunResult } from "./run-result.ts";

export interface PromptingOptions {
  work: Workplace;
  compaction: CompactionTriggers;
  activity: Activity;
  /** Told of each run that ended, with what it added. */
  onEnd: (messages: () => readonly Message[], result: RunResult) => void;
}

/** What becomes of a text: it starts a run, joins the run under way, or waits until something else has ended. */
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
    const { activity, work } = this.#options;
    const { kind } = activity;
    if (kind === undefined) return this.#start(input);
    if (kind === "run" && behavior === undefined) throw busyWith(kind);
    work.queue.add({ ...input, behavior: behavior ?? "steer" });
    return work.ownWork.awaited(this.#joinable ?? this.#followed(), { status: "queued" });
  }

  #followed(): Promise<RunResult> {
    this.#following ??= Promise.withResolvers();
    return this.#following.promise;
  }

  /** Takes back what waits; who waits for a run that would have followed learns that there is none. */
  clear(): QueuedInput[] {
    const cleared = this.#options.work.queue.clear();
    this.#following?.resolve({ status: "aborted" });
    this.#following = undefined;
    return cleared;
  }

  /** Something has ended: the text that waited longest becomes the prompt, the others are delivered as they asked. */
  ended({ aborted }: { aborted: boolean }): void {
    const following = this.#following;
    this.#following = undefined;
    if (following === undefined) return;
    const first = aborted ? undefined : this.#options.work.queue.takeOldest();
    if (first !== undefined) following.resolve(this.#start(first));
    else following.resolve({ status: "aborted", ...this.#unsent() });
  }

  #start(input: PromptInput): Promise<RunResult> {
    const { text, images, source } = input;
    const first = { text, source, ...(images === undefined ? {} : { images }) };
    const result = this.#options.activity.begin("run", (signal) => this.#runs(first, signal));
    this.#joinable = result;
    return result;
  }

  /** A run, and another for each text that came too late for the one before. */
  async #runs(first: PromptInput, signal: AbortSignal): Promise<RunResult> {
    const { work, compaction, onEnd } = this.#options;
    let result = await run({ work, compaction, input: first, signal, onEnd });
    while (hasRoomForMore(result) && !signal.aborted) {
      const next = work.queue.takeOldest();
      if (next === undefined) break;
      result = await run({ work, compaction, input: next, signal, onEnd });
    }
    // From here on nobody takes a text from the queue: one that comes now starts the next run.
    this.#joinable = undefined;
    return { ...result, ...this.#unsent(result.unsent) };
  }

  #unsent(more: readonly PromptInput[] = []): { unsent?: readonly PromptInput[] } {
    const unsent = [...more, ...this.#options.work.queue.clear()];
    return unsent.length === 0 ? {} : { unsent };
  }
}

function hasRoomForMore({ status }: RunResult): boolean {
  return status === "done" || status === "handled" || status === "paused";
}
