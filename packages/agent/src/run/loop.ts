import type { CompactionSite } from "@bonsai-agent/compaction";
import { type AssistantMessage, type ToolResultMessage, toolCalls } from "@bonsai-agent/messages";
import type { AgentParts } from "../agent-parts.ts";
import { runToolBatch } from "../tool-call.ts";
import { requestAnswer } from "./answer.ts";
import type { CompactionTriggers, Recovery } from "./compaction-triggers.ts";
import { type RunResult, userMessage } from "./prompt.ts";
import { isMessage, type QueuePhase } from "./queue.ts";
import { askInputHandlers, type Recorded, recordMessage, recordQueued, recordResult } from "./recording.ts";
import { RequestLimit } from "./request-limit.ts";

interface RunLoopOptions {
  parts: AgentParts;
  compaction: CompactionTriggers;
  systemPrompt: string;
  signal: AbortSignal;
}

/**
 * What follows from one request. `results`: ask again, for the results of tools. `stopped`: the model has nothing more to
 * do. `retry`: ask again, the context is smaller now. `otherModel`: ask the model that is in use by now. `cancelled`: the
 * user cancelled the compaction without which the request cannot be made.
 */
type Next = "results" | "stopped" | "retry" | "otherModel" | "cancelled";

const aborted: RunResult = { status: "aborted" };

/**
 * From a user's message to the last answer: request, tools, request, until the model stops and nobody has more to say.
 * One object for one run: owner of what was asked in it.
 */
export class RunLoop {
  readonly #options: RunLoopOptions;
  readonly #limit: RequestLimit;
  #turnIndex = 0;
  /** True once a request went again because the model had been changed; until a good answer. */
  #hasAskedOther = false;
  #answer: AssistantMessage | undefined;

  constructor(options: RunLoopOptions) {
    this.#options = options;
    const { parts, signal } = options;
    const { runRequests: maxRequests } = parts.settings.limits;
    this.#limit = new RequestLimit({ maxRequests, confirm: parts.confirmLongRun, signal });
  }

  /** The latest answer; absent before the first. */
  get answer(): AssistantMessage | undefined {
    return this.#answer;
  }

  /** @throws what appending to the session throws. */
  async run(): Promise<RunResult> {
    const result = await this.#untilNothingWaits();
    return { ...result, ...(this.#answer && { answer: this.#answer }) };
  }

  /** The outer loop goes from text to text, the inner one from request to request. */
  async #untilNothingWaits(): Promise<RunResult> {
    while (true) {
      let next: Next | undefined;
      // Until the model stops, and no text steers it on.
      while (next !== "cancelled" && (next !== "stopped" || (await this.#deliver("answer")))) {
        const turn = (await this.#beforeRequest(next)) ?? (await this.#turn());
        if (typeof turn === "object") return turn;
        next = turn;
      }
      if (next === "stopped" && (await this.#compact("afterAnswer")) === "aborted") return aborted;
      // Until no follow-up waits.
      if (!(await this.#deliver("end"))) return next === "stopped" ? { status: "done" } : aborted;
    }
  }

  /** Makes room, takes in what the user said meanwhile, and looks at the limit, for that counts anew then. */
  async #beforeRequest(last: Next | undefined): Promise<RunResult | undefined> {
    const { signal } = this.#options;
    const next = await this.#compact(siteAfter(last));
    if (next === "aborted") return aborted;
    if (next === "wait") {
      // The run ends for the user to say something, unless that waits already.
      if (!(await this.#deliver("end"))) return signal.aborted ? aborted : { status: "paused" };
    } else if (last === "results") await this.#deliver("request");
    const error = signal.aborted ? undefined : await this.#limit.before();
    if (signal.aborted) return aborted;
    return error && { status: "failed", error };
  }

  /** What was asked for comes first: mostly the threshold is far away then. */
  async #compact(site: CompactionSite | undefined): Promise<"goOn" | "wait" | "aborted"> {
    const { compaction, signal } = this.#options;
    if (signal.aborted) return "aborted";
    await compaction.carryOutAsked(signal, { isMidTask: site !== "afterAnswer" });
    if (signal.aborted) return "aborted";
    const next = site === undefined ? "goOn" : await compaction.threshold(site, signal);
    return signal.aborted ? "aborted" : next;
  }

  /** One request, and the tools that its answer calls. */
  async #turn(): Promise<Next | RunResult> {
    const { parts, compaction, systemPrompt, signal } = this.#options;
    const notSendable = await compaction.makeSendable(signal);
    if (notSendable !== undefined) return this.#afterRecovery(notSendable);
    const turnIndex = this.#turnIndex++;
    await parts.events.notify("turn_start", { type: "turn_start", turnIndex, timestamp: parts.now() });
    const answer = await requestAnswer({ parts, systemPrompt, signal });
    this.#answer = answer.message;
    const results: Recorded<ToolResultMessage>[] = [];
    const isLast = answer.status !== "good" || (await this.#runTools(answer.message, results));
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

  /** After an abort too: then each call gets a result that says so. True when the model need not be asked again. */
  #runTools(answer: AssistantMessage, results: Recorded<ToolResultMessage>[]): Promise<boolean> {
    const { parts, signal } = this.#options;
    parts.controller.answerArrived();
    this.#hasAskedOther = false;
    const onResult = async (result: ToolResultMessage) => {
      results.push(await recordResult(parts, result));
    };
    return runToolBatch({ parts, calls: toolCalls(answer), signal, onResult });
  }

  /** Goes on after an overflow; whatever else failed ends the run. */
  #afterRecovery({ status, error }: Recovery): Next | RunResult {
    switch (status) {
      case "retry":
      case "cancelled":
        return status;
      case "otherModel":
        // Once: somebody may change the model at every request.
        if (this.#hasAskedOther) return { status: "failed", error };
        this.#hasAskedOther = true;
        return status;
      case "aborted":
        return aborted;
      case "failed":
        return { status, error };
    }
  }

  /**
   * Stores what waits for this phase: messages, up to and with the next text that no extension takes, for each text gets
   * its answer. False where there was neither.
   */
  async #deliver(phase: QueuePhase): Promise<boolean> {
    const { parts, signal } = this.#options;
    const { queue, controller } = parts;
    let isDelivered = false;
    for (let next = queue.next(phase); next !== undefined; next = queue.next(phase)) {
      const text =
        signal.aborted || isMessage(next) ? undefined : await askInputHandlers(parts, next, signal);
      if (signal.aborted) {
        queue.putBack(next);
        return false;
      }
      if (isMessage(next)) {
        await recordQueued(parts, next);
        isDelivered = true;
      }
      if (text === undefined) continue;
      await recordMessage(parts, userMessage(text, parts.now()));
      controller.userMessageArrived();
      if (text.source !== "extension") this.#limit.userSpoke();
      return true;
    }
    return isDelivered;
  }
}

/** Where in the run the threshold is looked at; not after a recovery, which has just brought the context down. */
function siteAfter(last: Next | undefined): CompactionSite | undefined {
  if (last === "retry") return undefined;
  return last === "results" || last === "stopped" ? "betweenTools" : "beforePrompt";
}
