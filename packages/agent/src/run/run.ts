import type { CompactionSite } from "@bonsai-agent/compaction/host";
import {
  type AssistantMessage,
  BonsaiError,
  callsIn,
  contentText,
  type ImageContent,
  type Message,
  type ToolResultMessage,
} from "@bonsai-agent/messages";
import { count } from "@bonsai-agent/messages/numbers";
import { project, type Session } from "@bonsai-agent/session";
import type { CustomInput, PromptInput, RunResult, StreamingBehavior } from "../events.ts";
import { messageOf } from "../notice.ts";
import type { AgentParts } from "./agent-parts.ts";
import {
  type Answer,
  type Recorded,
  recordCustom,
  recordMessage,
  recordQueued,
  recordResult,
  requestAnswer,
  restoreImages,
} from "./answer.ts";
import type { Recovery, RunCompactions } from "./compactions.ts";
import { endOpenCalls } from "./interrupted-calls.ts";
import {
  isMessage,
  preparedInput,
  type QueuedInput,
  type QueuePhase,
  type SaidInput,
  userMessage,
} from "./queue.ts";
import { runToolBatch } from "./tool-call.ts";

/** The first input of a run: a text, or a message of an extension. */
export type RunStart = PromptInput | { message: CustomInput };

interface RunOptions {
  parts: AgentParts;
  compaction: RunCompactions;
  start: RunStart;
  signal: AbortSignal;
  /** Called with the messages that the run added, after `agent_end`. */
  onEnd: (messages: () => readonly Message[], result: RunResult) => void;
}

/** The beginning of a run, as changed by extensions. */
interface Opening {
  start: SaidInput | { message: CustomInput };
  systemPrompt: string;
  /** Stored after the start. */
  custom: readonly CustomInput[];
}

/** Runs from a text or message to the result. Never rejects. */
export async function run(options: RunOptions): Promise<RunResult> {
  const { parts, start, signal } = options;
  try {
    const opening = await openingOf(options);
    if (signal.aborted) return { status: "aborted", ...unsentTexts(parts, start) };
    return opening === undefined ? { status: "handled" } : await runOpened(options, opening);
  } catch (error) {
    return { status: "failed", error: runError(error), ...unsentTexts(parts, start) };
  }
}

/** Returns undefined if a handler took the text. */
async function openingOf({ parts, start, signal }: RunOptions): Promise<Opening | undefined> {
  const input = isMessage(start) ? start : await preparedInput(parts, start, signal);
  if (input === undefined || signal.aborted) return undefined;
  await parts.promptNotes.renew();
  const event = {
    type: "before_agent_start" as const,
    ...promptOf(input),
    systemPrompt: parts.systemPrompt.fresh(),
  };
  const { result, payload } = await parts.events.decide("before_agent_start", event, { signal });
  return { start: input, systemPrompt: payload.systemPrompt, custom: [result?.message ?? []].flat() };
}

function promptOf(start: RunStart): { prompt: string; images?: ImageContent[] } {
  if (isMessage(start)) return { prompt: contentText(start.message.content) };
  const { text: prompt, images } = start;
  return images === undefined ? { prompt } : { prompt, images: [...images] };
}

/** Runs from `agent_start` to `agent_end`, also after an error. */
async function runOpened(options: RunOptions, opening: Opening): Promise<RunResult> {
  const { parts, onEnd } = options;
  const { events, session } = parts;
  const since = session.leafId;
  const messages = () => messagesSince(session, since);
  parts.systemPrompt.ofRun = opening.systemPrompt;
  await events.notify("agent_start", { type: "agent_start" });
  const result = await resultOf(options, opening);
  parts.abortGrace.extend();
  // A run of days has more messages than memory should hold: list them only for a handler.
  if (events.hasHandlers("agent_end"))
    await events.notify("agent_end", { type: "agent_end", messages: messages(), result });
  parts.systemPrompt.ofRun = undefined;
  onEnd(messages, result);
  return result;
}

/** Stores the start of the run, so that it is on disk before the first request, then runs the loop. */
async function resultOf(options: RunOptions, { start, custom }: Opening): Promise<RunResult> {
  const { parts, start: given, signal } = options;
  const loop = new RunLoop(options);
  let isStored = false;
  try {
    await endOpenCalls(parts);
    if (parts.selection.record() && parts.selection.model.input.includes("image"))
      restoreImages(parts.session);
    await loop.beginTurn();
    if (isMessage(start)) await recordCustom(parts, start.message);
    else await recordMessage(parts, userMessage(start, parts.now()));
    parts.controller.userMessageArrived();
    isStored = true;
    if (!isMessage(start)) await recordWithPrompt(parts);
    for (const message of custom) await recordCustom(parts, message);
    const result = await loop.run();
    const isEnded = signal.aborted || (await loop.isDurable());
    return { ...(isEnded ? result : aborted), answer: loop.answer };
  } catch (error) {
    const isExpanded = !isMessage(start) && start.typed !== undefined;
    const unsent = isStored ? {} : unsentTexts(parts, isExpanded ? given : start);
    return { status: "failed", error: runError(error), answer: loop.answer, ...unsent };
  }
}

async function recordWithPrompt(parts: AgentParts): Promise<void> {
  const { queue } = parts;
  for (let next = queue.next("prompt"); next !== undefined; next = queue.next("prompt"))
    await recordQueued(parts, next);
}

/** Gives a text back that was not stored. A message is stored at the end of the run. */
function unsentTexts({ queue }: AgentParts, start: RunStart): Pick<RunResult, "unsent"> {
  if (!isMessage(start)) return { unsent: [start] };
  queue.putBack({ message: start.message, behavior: "steer", triggerTurn: false });
  return {};
}

function runError(error: unknown): BonsaiError {
  if (BonsaiError.is(error)) return error;
  return new BonsaiError({
    code: "run_failed",
    message: `The work stopped with an error: ${messageOf(error)}`,
    hint: "The work so far is kept. Send the message again. If the error returns, report it with this message.",
    cause: error,
  });
}

/** The messages between an entry and the leaf, oldest first. */
function messagesSince(session: Session, entryId: string | null): Message[] {
  const messages: Message[] = [];
  for (let id = session.leafId; id !== null && id !== entryId; ) {
    const entry = session.entry(id);
    if (entry === undefined) break;
    if (entry.type === "message") messages.push(entry.message);
    if (entry.type === "custom_message")
      messages.push(...project([entry]).items.map(({ message }) => message));
    id = entry.parentId;
  }
  return messages.reverse();
}

/**
 * The run loop's next step after a request. `results`: ask again, with the results of tools. `stopped`: the model has
 * nothing more to do. `retry`: ask again, the context is smaller now. `modelChanged`: ask the new model. `cancelled`: the
 * user cancelled a compaction that the request needs.
 */
type Next = "results" | "stopped" | "retry" | "modelChanged" | "cancelled";

const aborted: RunResult = { status: "aborted" };

/** One run, from the user's message to the last answer: request, tools, request, until the model stops and no text waits. */
class RunLoop {
  readonly #options: Pick<RunOptions, "parts" | "compaction" | "signal">;
  #turnIndex = 0;
  #isInTurn = false;
  /** Requests since the user's latest message or confirmation. The user need not have read text beside tool calls. */
  #requests = 0;
  /** True after a retry with another model, until a good answer. */
  #triedOtherModel = false;
  /** The latest answer. */
  answer: AssistantMessage | undefined;

  constructor(options: Pick<RunOptions, "parts" | "compaction" | "signal">) {
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

  /**
   * Runs until no text waits: the outer loop goes from text to text, the inner one from request to request.
   * @throws what appending to the session throws.
   */
  async run(): Promise<RunResult> {
    while (true) {
      let next: Next | undefined;
      do {
        const turn = (await this.#beforeRequest(next)) ?? (await this.#turn());
        if (typeof turn === "object") return turn;
        next = turn;
        // A stopped model continues for a steering text.
      } while (next !== "cancelled" && (next !== "stopped" || (await this.#deliver("answer"))));
      if (next === "stopped" && (await this.#compact("afterAnswer")) === "aborted") return aborted;
      // This run also answers a follow-up that is delivered here.
      if (!(await this.#deliver("end"))) return next === "stopped" ? { status: "done" } : aborted;
    }
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
    await parts.promptNotes.renew();
    for (const note of parts.promptNotes.pending()) await recordCustom(parts, note);
    const notSendable = await compaction.fitBeforeSending(signal);
    if (notSendable !== undefined) return this.#afterRecovery(notSendable);
    await this.beginTurn();
    if (!(await this.isDurable())) return aborted;
    const answer = await requestAnswer(parts, signal);
    this.answer = answer.message;
    const results: Recorded<ToolResultMessage>[] = [];
    const isLast = answer.status !== "good" || (await this.#runTools(answer, results));
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

  /** Waits until everything appended is stored for other hosts. Returns false after an abort. */
  async isDurable(): Promise<boolean> {
    const { parts, signal } = this.#options;
    try {
      await parts.durableWork.stored(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    return !signal.aborted;
  }

  /** After an abort, each call gets a result too. Returns true if the run needs no further request. */
  #runTools({ message, entryId }: Answer, results: Recorded<ToolResultMessage>[]): Promise<boolean> {
    const { parts, signal } = this.#options;
    parts.controller.answerArrived();
    this.#triedOtherModel = false;
    const onResult = async (result: ToolResultMessage) => {
      results.push(await recordResult(parts, result));
    };
    const calls = callsIn(message).map((call) => ({ call, entryId }));
    return runToolBatch(parts, calls, signal, onResult);
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
    if (status === "aborted") return aborted;
    // Once: the model may change at every request.
    if (status === "failed" || (status === "modelChanged" && this.#triedOtherModel))
      return { status: "failed", error };
    if (status === "modelChanged") this.#triedOtherModel = true;
    return status;
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
      if (!isMessage(next) && text === undefined) continue;
      await this.beginTurn();
      if (isMessage(next)) await recordQueued(parts, next);
      isDelivered = true;
      if (text === undefined) continue;
      await recordMessage(parts, userMessage(text, parts.now()));
      controller.userMessageArrived();
      if (text.source !== "extension") this.#requests = 0;
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
