import type { CompactionSite } from "@bonsai-agent/compaction";
import {
  type AssistantMessage,
  BonsaiError,
  type Message,
  type ToolResultMessage,
  toolCalls,
} from "@bonsai-agent/messages";
import { type Answer, requestAnswer } from "./answer.ts";
import type { CompactionTriggers } from "./compaction-triggers.ts";
import type { QueuedInput } from "./queue.ts";
import { recordMessage } from "./record-message.ts";
import type { RunResult } from "./run-result.ts";
import { runToolBatch } from "./tool-runner.ts";
import { userMessage } from "./user-message.ts";
import type { Workplace } from "./workplace.ts";

export interface RunLoopOptions {
  work: Workplace;
  compaction: CompactionTriggers;
  systemPrompt: string;
  signal: AbortSignal;
  /** Told of every message that the run added. */
  onMessage: (message: Message) => void;
}

/**
 * From a user's message to the last answer: request, tools, request, until the model stops and nobody has more to say.
 * One object for one run: owner of the turn count and of where the next threshold check stands.
 */
export class RunLoop {
  readonly #options: RunLoopOptions;
  #turnIndex = 0;
  #site: CompactionSite | undefined = "beforePrompt";
  #answer: AssistantMessage | undefined;

  constructor(options: RunLoopOptions) {
    this.#options = options;
  }

  async run(): Promise<RunResult> {
    for (;;) {
      const ended = (await this.#checkThreshold()) ?? (await this.#turn());
      if (ended !== undefined) return { ...ended, ...(this.#answer && { answer: this.#answer }) };
    }
  }

  async #checkThreshold(): Promise<RunResult | undefined> {
    const { compaction, signal } = this.#options;
    if (signal.aborted) return { status: "aborted" };
    if (this.#site === undefined) return undefined;
    const verdict = await compaction.threshold(this.#site, signal);
    if (signal.aborted) return { status: "aborted" };
    return verdict === "wait" ? { status: "paused" } : undefined;
  }

  /** One request and what follows from its answer; a result when the run is over. */
  async #turn(): Promise<RunResult | undefined> {
    const { work, systemPrompt, signal } = this.#options;
    const turnIndex = this.#turnIndex++;
    await work.lifecycle.notify("turn_start", { type: "turn_start", turnIndex, timestamp: work.now() });
    const answer = await requestAnswer({ work, systemPrompt, signal });
    this.#took(answer.message);
    this.#answer = answer.message;
    const isGood = answer.failure === undefined && !signal.aborted && answer.message.stopReason !== "aborted";
    if (isGood) work.controller.answerArrived();
    const results = isGood ? await this.#runTools(answer.message) : [];
    await work.lifecycle.notify("turn_end", {
      type: "turn_end",
      turnIndex,
      message: answer.message,
      toolResults: results.map(({ message }) => message),
      messageEntryId: answer.entryId,
      toolResultEntryIds: results.map(({ entryId }) => entryId),
    });
    if (answer.failure !== undefined) return this.#failed(answer);
    if (!isGood || signal.aborted) return { status: "aborted" };
    return this.#goOn(results.length > 0);
  }

  async #runTools(answer: AssistantMessage): Promise<{ message: ToolResultMessage; entryId: string }[]> {
    const { work, signal } = this.#options;
    const stored: { message: ToolResultMessage; entryId: string }[] = [];
    await runToolBatch({
      work,
      calls: toolCalls(answer),
      signal,
      onResult: async (result) => {
        const recorded = await recordMessage(work, result);
        this.#took(recorded.message);
        stored.push(recorded);
      },
    });
    return stored;
  }

  /** What the next request is for; the run is over when there is none. */
  async #goOn(hasResults: boolean): Promise<RunResult | undefined> {
    const { work } = this.#options;
    const steering = work.queue.takeSteering();
    if (steering !== undefined) await this.#say(steering);
    if (steering !== undefined || hasResults) {
      this.#site = "betweenTools";
      return undefined;
    }
    this.#site = "afterAnswer";
    const ended = await this.#checkThreshold();
    const next = work.queue.take();
    if (next === undefined) return ended?.status === "aborted" ? ended : { status: "done" };
    await this.#say(next);
    this.#site = "beforePrompt";
    return undefined;
  }

  async #say(input: QueuedInput): Promise<void> {
    const { work } = this.#options;
    const { message } = await recordMessage(work, userMessage(input, work.now()));
    work.controller.userMessageArrived();
    this.#took(message);
  }

  /** An overflow is recovered from inside the run; whatever else failed ends it. */
  async #failed(answer: Answer): Promise<RunResult | undefined> {
    const { compaction, signal } = this.#options;
    const recovery = await compaction.recover(answer, signal);
    if (recovery.status === "retry") {
      this.#site = undefined;
      return undefined;
    }
    return recovery.status === "aborted"
      ? { status: "aborted" }
      : { status: "failed", error: recovery.error ?? modelFailed(answer) };
  }

  #took(message: Message): void {
    this.#options.onMessage(message);
  }
}

function modelFailed({ failure, message }: Answer): BonsaiError {
  const from = `${message.provider}/${message.model}`;
  return new BonsaiError({
    code: "model_failed",
    message: `${from} failed: ${failure?.message ?? "no reason given"}`,
    hint: "What was said so far is kept. Send the message again, or choose another model.",
  });
}
