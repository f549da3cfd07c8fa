import type { CompactionSite } from "@bonsai-agent/compaction/host";
import { type AssistantMessage, BonsaiError, callsIn, type ToolResultMessage } from "@bonsai-agent/messages";
import { count } from "@bonsai-agent/messages/numbers";
import type { RunResult, StreamingBehavior } from "../events.ts";
import type { AgentParts } from "./agent-parts.ts";
import { type Recorded, recordMessage, recordQueued, recordResult, requestAnswer } from "./answer.ts";
import type { Recovery, RunCompactions } from "./compactions.ts";
import {
  isMessage,
  preparedInput,
  type QueuedInput,
  type QueuePhase,
  type SaidInput,
  userMessage,
} from "./queue.ts";
import { runToolBatch } from "./tool-call.ts";

/**
 * The run loop's next step after a request. `results`: ask again, with the results of tools. `stopped`: the model has
 * nothing more to do. `retry`: ask again, the context is smaller now. `modelChanged`: ask the new model. `cancelled`: the
 * user cancelled a compaction that the request needs.
 */
type Next = "results" | "stopped" | "retry" | "modelChanged" | "cancelled";

const aborted: RunResult = { status: "aborted" };

/** One run, from the user's message to the last answer: request, tools, request, until the model stops and no text waits. */
export class RunLoop {
  readonly #options: { parts: AgentParts; compaction: RunCompactions; signal: AbortSignal };
  #turnIndex = 0;
  #isInTurn = false;
  /** Requests since the user's latest message or confirmation. The user need not have read text beside tool calls. */
  #requests = 0;
  /** True after a retry with another model, until a good answer. */
  #triedOtherModel = false;
  /** The latest answer. */
  answer: AssistantMessage | undefined;

  constructor(options: { parts: AgentParts; compaction: RunCompactions; signal: AbortSignal }) {
    this.#options = options;
  }

  /** Begins a turn with the user's message, or with the request. */
  async beginTurn(): Promise<void> {
    const { events, now } = this.#options.parts;
    if (this.#isInTurn) return;
    this.#isInTurn = true;
    const event = { type: "turn_start" as const, turnIndex: this.#turnIndex, timestamp: now() };
    await events.notify("turn_start", event);
  }

  /** @throws what appending to the session throws. */
  async run(): Promise<RunResult> {
    const result = await this.#untilNothingWaits();
    return { ...result, ...(this.answer && { answer: this.answer }) };
  }

  /** The outer loop goes from text to text, the inner one from request to request. */
  async #untilNothingWaits(): Promise<RunResult> {
    while (true) {
      let next: Next | undefined;
      do {
        const turn = (await this.#beforeRequest(next)) ?? (await this.#turn());
        if (typeof turn === "object") return turn;
        next = turn;
      } while (await this.#goesOn(next));
      if (next === "stopped" && (await this.#compact("afterAnswer")) === "aborted") return aborted;
      // This run also answers a follow-up that is delivered here.
      if (!(await this.#deliver("end"))) return next === "stopped" ? { status: "done" } : aborted;
    }
  }

  /** A stopped model continues for a steering text. */
  async #goesOn(next: Next): Promise<boolean> {
    if (next === "cancelled") return false;
    return next !== "stopped" || this.#deliver("answer");
  }

  /** Compacts if necessary, delivers waiting texts and checks the limit of requests. */
  async #beforeRequest(last: Next | undefined): Promise<RunResult | undefined> {
    const { signal } = this.#options;
    const next = await this.#compact(siteAfter(last));
    if (next === "aborted") return aborted;
    if (next === "wait") {
      // The run waits for the user, unless a text waits already.
      if (!(await this.#deliver("end"))) return signal.aborted ? aborted : { status: "paused" };
    } else if (last === "results") await this.#deliver("request");
    const error = signal.aborted ? undefined : await this.#countRequest();
    if (signal.aborted) return aborted;
    return error && { status: "failed", error };
  }

  /** Returns the error that ends the run if it may make no more requests. */
  async #countRequest(): Promise<BonsaiError | undefined> {
    const { parts, signal } = this.#options;
    const { runRequests } = parts.settings.limits;
    const requests = this.#requests;
    if (runRequests > 0 && requests >= runRequests) {
      if (!(await parts.confirmMoreRequests?.({ requests, signal }))) return tooManyRequests(requests);
      this.#requests = 0;
    }
    this.#requests += 1;
    return undefined;
  }

  /** A requested compaction comes first: after it, the context is mostly below the threshold. */
  async #compact(site: CompactionSite | undefined): Promise<"goOn" | "wait" | "aborted"> {
    const { compaction, signal } = this.#options;
    if (signal.aborted) return "aborted";
    await compaction.runRequested(signal, { isMidTask: site !== "afterAnswer" });
    if (signal.aborted) return "aborted";
    const next = site === undefined ? "goOn" : await compaction.threshold(site, signal);
    return signal.aborted ? "aborted" : next;
  }

  /** One request, and the tools that its answer calls. */
  async #turn(): Promise<Next | RunResult> {
    const { parts, compaction, signal } = this.#options;
    await parts.systemPrompt.renew();
    const notSendable = await compaction.fitBeforeSending(signal);
    if (notSendable !== undefined) return this.#afterRecovery(notSendable);
    await this.beginTurn();
    const answer = await requestAnswer(parts, signal);
    this.answer = answer.message;
    const results: Recorded<ToolResultMessage>[] = [];
    const isLast = answer.status !== "good" || (await this.#runTools(answer.message, results));
    const turnIndex = this.#turnIndex++;
    this.#isInTurn = false;
    await parts.events.notify("turn_end", {
      type: "turn_end",
      turnIndex,
      message: answer.message,
      toolResults: results.map(({ message }) => message),
      messageEntryId: answer.entryId,
      toolResultEntryIds: results.map(({ entryId }) => entryId),
    });
    if (answer.status === "failed") return this.#afterRecovery(await compaction.recover(answer, signal));
    if (answer.status === "aborted" || signal.aborted) return aborted;
    return results.length > 0 && !isLast ? "results" : "stopped";
  }

  /** After an abort, each call gets a result too. Returns true if the run needs no further request. */
  #runTools(answer: AssistantMessage, results: Recorded<ToolResultMessage>[]): Promise<boolean> {
    const { parts, signal } = this.#options;
    parts.controller.answerArrived();
    this.#triedOtherModel = false;
    const onResult = async (result: ToolResultMessage) => {
      results.push(await recordResult(parts, result));
    };
    return runToolBatch(parts, callsIn(answer), signal, onResult);
  }

  /** A text that cannot be expanded waits again, and is `unsent` at the end of the run. */
  async #prepared(queued: QueuedInput): Promise<SaidInput | undefined> {
    const { parts, signal } = this.#options;
    try {
      return await preparedInput(parts, queued, signal);
    } catch (error) {
      parts.queue.putBack(queued);
      throw error;
    }
  }

  /** Continues after an overflow; other failures end the run. */
  #afterRecovery({ status, error }: Recovery): Next | RunResult {
    switch (status) {
      case "retry":
      case "cancelled":
        return status;
      case "modelChanged":
        // Once: the model may change at every request.
        if (this.#triedOtherModel) return { status: "failed", error };
        this.#triedOtherModel = true;
        return status;
      case "aborted":
        return aborted;
      case "failed":
        return { status, error };
    }
  }

  /** Stores the waiting messages of this phase and the next text. Returns false if there were none. */
  async #deliver(phase: QueuePhase): Promise<boolean> {
    const { parts, signal } = this.#options;
    const { queue, controller } = parts;
    let isDelivered = false;
    for (let next = queue.next(phase); next !== undefined; next = queue.next(phase)) {
      const text = signal.aborted || isMessage(next) ? undefined : await this.#prepared(next);
      if (signal.aborted) {
        queue.putBack(next);
        return false;
      }
      if (isMessage(next)) {
        await this.beginTurn();
        await recordQueued(parts, next);
        isDelivered = true;
      }
      if (text === undefined) continue;
      await this.beginTurn();
      await recordMessage(parts, userMessage(text, parts.now()));
      controller.userMessageArrived();
      if (text.source !== "extension") this.#requests = 0;
      isDelivered = true;
      if (queue.delivery[next.behavior as StreamingBehavior] === "one-at-a-time") return true;
    }
    return isDelivered;
  }
}

/** The place of the next threshold check; undefined after a recovery, which has just made the context smaller. */
function siteAfter(last: Next | undefined): CompactionSite | undefined {
  if (last === "retry") return undefined;
  return last === "results" || last === "stopped" ? "betweenTools" : "beforePrompt";
}

function tooManyRequests(requests: number): BonsaiError {
  return new BonsaiError({
    code: "run_request_limit",
    message: `The agent stopped after ${count(requests)} requests without your input.`,
    hint: "The work so far is kept. Ask the agent to continue. To change the limit, set limits.runRequests; 0 means no limit.",
  });
}
