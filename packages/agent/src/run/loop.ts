import type { CompactionSite } from "@bonsai-agent/compaction";
import {
  type AssistantMessage,
  BonsaiError,
  type ToolResultMessage,
  toolCalls,
} from "@bonsai-agent/messages";
import { EMPTY_ANSWER } from "@bonsai-agent/models";
import type { AgentParts } from "../agent-parts.ts";
import { runToolBatch } from "../tool-call.ts";
import { type Answer, requestAnswer } from "./answer.ts";
import type { CompactionTriggers, Recovery } from "./compaction-triggers.ts";
import { type RunResult, userMessage } from "./prompt.ts";
import { isMessage, type Queued, type QueuedMessage } from "./queue.ts";
import { askInputHandlers, type Recorded, recordCustom, recordMessage, recordResult } from "./recording.ts";
import { RequestLimit } from "./request-limit.ts";

interface RunLoopOptions {
  work: AgentParts;
  compaction: CompactionTriggers;
  systemPrompt: string;
  signal: AbortSignal;
}

/** What came of an answer's calls. */
interface ToolTurn {
  results: Recorded<ToolResultMessage>[];
  /** True when the model need not be asked again. */
  isLast: boolean;
}

/**
 * From a user's message to the last answer: request, tools, request, until the model stops and nobody has more to say.
 * One object for one run: owner of the turn count and of what comes before the next request.
 */
export class RunLoop {
  readonly #options: RunLoopOptions;
  readonly #limit: RequestLimit;
  #turnIndex = 0;
  #site: CompactionSite | undefined = "beforePrompt";
  /** True when a text can be said before the next request. */
  #isSteerable = false;
  #answer: AssistantMessage | undefined;
  /** True once a request went again because the model had been changed; until a good answer. */
  #hasAskedOther = false;

  constructor(options: RunLoopOptions) {
    this.#options = options;
    const { work, signal } = options;
    const { runRequests: maxRequests } = work.settings.limits;
    this.#limit = new RequestLimit({ maxRequests, confirm: work.confirmLongRun, signal });
  }

  /** The latest answer; absent before the first. */
  get answer(): AssistantMessage | undefined {
    return this.#answer;
  }

  /** @throws what appending to the session throws. */
  async run(): Promise<RunResult> {
    for (;;) {
      const ended =
        (await this.#compactAsAsked({ isMidTask: true })) ??
        (await this.#checkThreshold()) ??
        (await this.#steer()) ??
        (await this.#checkLimit()) ??
        (await this.#turn());
      if (ended !== undefined) return { ...ended, ...(this.#answer && { answer: this.#answer }) };
    }
  }

  /** Behind the check, because a compaction takes its time: what the user says meanwhile is in the next request. */
  async #steer(): Promise<RunResult | undefined> {
    const { work, signal } = this.#options;
    if (!this.#isSteerable) return undefined;
    this.#isSteerable = false;
    await this.#say(() => work.queue.takeSteering());
    return signal.aborted ? { status: "aborted" } : undefined;
  }

  /** Before the threshold is looked at: mostly nothing is left to do there then. */
  async #compactAsAsked(place: { isMidTask: boolean }): Promise<RunResult | undefined> {
    const { compaction, signal } = this.#options;
    if (!signal.aborted) await compaction.carryOutAsked(signal, place);
    return signal.aborted ? { status: "aborted" } : undefined;
  }

  async #checkThreshold(): Promise<RunResult | undefined> {
    const { work, compaction, signal } = this.#options;
    if (signal.aborted) return { status: "aborted" };
    if (this.#site === undefined) return undefined;
    const verdict = await compaction.threshold(this.#site, signal);
    if (signal.aborted) return { status: "aborted" };
    if (verdict !== "wait") return undefined;
    // A text that waits is the user, who need not be waited for then.
    if (!(await this.#say(() => work.queue.take()))) return { status: signal.aborted ? "aborted" : "paused" };
    this.#isSteerable = false;
    return undefined;
  }

  /** Behind what the user said: that counts. */
  async #checkLimit(): Promise<RunResult | undefined> {
    const { signal } = this.#options;
    const error = await this.#limit.before();
    if (signal.aborted) return { status: "aborted" };
    return error === undefined ? undefined : { status: "failed", error };
  }

  /** One request and what follows from its answer; a result when the run is over. */
  async #turn(): Promise<RunResult | undefined> {
    const { work, compaction, systemPrompt, signal } = this.#options;
    const unsendable = await compaction.makeSendable(signal);
    if (unsendable !== undefined) return this.#unsent(unsendable);
    const turnIndex = this.#turnIndex++;
    await work.events.notify("turn_start", { type: "turn_start", turnIndex, timestamp: work.now() });
    const answer = await requestAnswer({ work, systemPrompt, signal });
    this.#answer = answer.message;
    const { results, isLast } =
      answer.status === "good" ? await this.#runTools(answer.message) : { results: [], isLast: true };
    await work.events.notify("turn_end", {
      type: "turn_end",
      turnIndex,
      message: answer.message,
      toolResults: results.map(({ message }) => message),
      messageEntryId: answer.entryId,
      toolResultEntryIds: results.map(({ entryId }) => entryId),
    });
    if (answer.status === "failed") return this.#failed(answer);
    if (answer.status === "aborted" || signal.aborted) return { status: "aborted" };
    return this.#goOn(results.length > 0 && !isLast);
  }

  /** After an abort too: then each call gets a result that says so. */
  async #runTools(answer: AssistantMessage): Promise<ToolTurn> {
    const { work, signal } = this.#options;
    work.controller.answerArrived();
    this.#hasAskedOther = false;
    const results: ToolTurn["results"] = [];
    const onResult = async (result: ToolResultMessage) => {
      results.push(await recordResult(work, result));
    };
    const isLast = await runToolBatch({ work, calls: toolCalls(answer), signal, onResult });
    return { results, isLast };
  }

  /** What the next request is for; the run is over when there is none. */
  async #goOn(hasNews: boolean): Promise<RunResult | undefined> {
    const { work, signal } = this.#options;
    this.#isSteerable = hasNews;
    if (hasNews || (await this.#say(() => work.queue.takeUrgent()))) {
      this.#site = "betweenTools";
      return undefined;
    }
    this.#site = "afterAnswer";
    const ended = (await this.#compactAsAsked({ isMidTask: false })) ?? (await this.#checkThreshold());
    if (ended !== undefined) return ended;
    return this.#begunAnew(signal.aborted ? "aborted" : "done");
  }

  /** Says the next text that waits; where there is none, that is how the run ended. */
  async #begunAnew(status: "done" | "aborted"): Promise<RunResult | undefined> {
    const { work } = this.#options;
    if (!(await this.#say(() => work.queue.take()))) return { status };
    this.#site = "beforePrompt";
    return undefined;
  }

  /**
   * Stores the messages that wait, up to and with the next text that no extension takes: each text gets its answer.
   * False where there was none of either.
   */
  async #say(take: () => Queued | undefined): Promise<boolean> {
    const { work, signal } = this.#options;
    let isSaid = false;
    for (let next = take(); next !== undefined; next = take()) {
      const heard =
        signal.aborted || isMessage(next) ? undefined : await askInputHandlers(work, next, signal);
      if (signal.aborted) {
        work.queue.putBack(next);
        return false;
      }
      if (isMessage(next)) {
        await this.#record(next);
        isSaid = true;
      }
      if (heard === undefined) continue;
      await recordMessage(work, userMessage(heard, work.now()));
      work.controller.userMessageArrived();
      if (heard.source !== "extension") this.#limit.userSpoke();
      return true;
    }
    return isSaid;
  }

  async #record(queued: QueuedMessage): Promise<void> {
    const { work } = this.#options;
    try {
      await recordCustom(work, queued.message);
    } catch (error) {
      work.queue.putBack(queued);
      throw error;
    }
  }

  /** What is far above the window is not asked for. */
  #unsent({ status, error }: Recovery): Promise<RunResult | undefined> | RunResult {
    if (status === "cancelled") return this.#begunAnew("aborted");
    return status === "aborted" || error === undefined ? { status: "aborted" } : { status: "failed", error };
  }

  /** An overflow is recovered from inside the run; whatever else failed ends it. */
  async #failed(answer: Answer): Promise<RunResult | undefined> {
    const { compaction, signal } = this.#options;
    const recovery = await compaction.recover(answer, signal);
    switch (recovery.status) {
      case "retry":
        this.#site = undefined;
        return undefined;
      case "otherModel":
        // Once: somebody may change the model at every request.
        if (this.#hasAskedOther) return { status: "failed", error: modelFailed(answer) };
        this.#hasAskedOther = true;
        this.#site = "beforePrompt";
        return undefined;
      case "cancelled":
        return this.#begunAnew("aborted");
      case "aborted":
        return { status: "aborted" };
      case "failed":
        return { status: "failed", error: recovery.error ?? modelFailed(answer) };
    }
  }
}

function modelFailed({ failure, message }: Answer): BonsaiError {
  const from = `${message.provider}/${message.model}`;
  if (failure?.code === EMPTY_ANSWER) return emptyAnswer(from, failure.message);
  return new BonsaiError({
    code: "model_failed",
    message: `${from} failed: ${failure?.message ?? message.errorMessage ?? "no reason given"}`,
    hint: `What was said so far is kept. ${whatToDo(failure?.status)}`,
  });
}

function emptyAnswer(from: string, message: string): BonsaiError {
  return new BonsaiError({
    code: "answer_empty",
    message: `${from} gave no answer. ${message}`,
    hint: "What was done so far is kept. Say go on, ask in other words, or choose another model.",
  });
}

function whatToDo(status: number | undefined): string {
  if (status !== 401 && status !== 403) return "Send the message again, or choose another model.";
  return "Check the key: /login stores another, and the provider's variable counts before it. Or choose another model.";
}
