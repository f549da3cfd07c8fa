import type { CompactionSite } from "@bonsai-agent/compaction";
import {
  type AssistantMessage,
  BonsaiError,
  contentText,
  type ImageContent,
  type Message,
  type ToolCall,
  type ToolResultMessage,
  toolCalls,
} from "@bonsai-agent/messages";
import { project, type Session } from "@bonsai-agent/session";
import type { AgentParts } from "../agent-parts.ts";
import { messageOf } from "../notice.ts";
import { runToolBatch } from "../tool-call.ts";
import { errorResult } from "../tool-registry.ts";
import {
  askInputHandlers,
  type Recorded,
  recordCustom,
  recordMessage,
  recordQueued,
  recordResult,
  requestAnswer,
} from "./answer.ts";
import type { CompactionTriggers, Recovery } from "./compaction-triggers.ts";
import {
  type CustomInput,
  isMessage,
  type PromptInput,
  type QueuePhase,
  type RunResult,
  type StreamingBehavior,
  userMessage,
} from "./input.ts";

/** What a run begins with: a text, or a message of an extension. */
export type RunStart = PromptInput | { message: CustomInput };

interface RunOptions {
  parts: AgentParts;
  compaction: CompactionTriggers;
  start: RunStart;
  signal: AbortSignal;
  /** Called with the messages that the run added, after `agent_end`. */
  onEnd: (messages: () => readonly Message[], result: RunResult) => void;
}

/** How a run begins, as extensions left it. */
interface Opening {
  start: RunStart;
  systemPrompt: string;
  /** Put behind what the run begins with. */
  custom: readonly CustomInput[];
}

/** From a text to the result of the run that it started. Never rejects. */
export async function run(options: RunOptions): Promise<RunResult> {
  const { parts, start, signal } = options;
  try {
    const opening = await openingOf(options);
    if (signal.aborted) return { status: "aborted", ...handBack(parts, start) };
    return opening === undefined ? { status: "handled" } : await runOpened(options, opening);
  } catch (error) {
    return { status: "failed", error: runError(error), ...handBack(parts, start) };
  }
}

/** Undefined when an extension took the text. */
async function openingOf({ parts, start, signal }: RunOptions): Promise<Opening | undefined> {
  const input = isMessage(start) ? start : await askInputHandlers(parts, start, signal);
  if (input === undefined || signal.aborted) return undefined;
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

/** From `agent_start` to `agent_end`, whatever happens in between. */
async function runOpened(options: RunOptions, opening: Opening): Promise<RunResult> {
  const { parts, onEnd } = options;
  const { events, session } = parts;
  const since = session.leafId;
  const messages = () => messagesSince(session, since);
  parts.systemPrompt.ofRun = opening.systemPrompt;
  await events.notify("agent_start", { type: "agent_start" });
  const result = await resultOf(options, opening);
  parts.gracePeriod.extend();
  // The list is made only where somebody wants it: a run of days has more messages than memory should hold.
  if (events.hasHandlers("agent_end"))
    await events.notify("agent_end", { type: "agent_end", messages: messages(), result });
  parts.systemPrompt.ofRun = undefined;
  onEnd(messages, result);
  return result;
}

/** Stores what the run begins with, so that it is on disk before the request leaves; then the loop. */
async function resultOf(
  { parts, compaction, signal }: RunOptions,
  { start, systemPrompt, custom }: Opening,
): Promise<RunResult> {
  const loop = new RunLoop({ parts, compaction, systemPrompt, signal });
  let isStored = false;
  try {
    await answerOpenCalls(parts);
    parts.selection.record();
    await loop.beginTurn();
    if (isMessage(start)) await recordCustom(parts, start.message);
    else await recordMessage(parts, userMessage(start, parts.now()));
    parts.controller.userMessageArrived();
    isStored = true;
    if (!isMessage(start)) await recordWithPrompt(parts);
    for (const message of custom) await recordCustom(parts, message);
    return await loop.run();
  } catch (error) {
    const unsent = isStored ? {} : handBack(parts, start);
    return { status: "failed", error: runError(error), answer: loop.answer, ...unsent };
  }
}

async function answerOpenCalls(parts: AgentParts): Promise<void> {
  const text = "No result: the work was broken off before this call ended.";
  for (const call of openCalls(parts.session))
    await recordResult(parts, errorResult(call, text, parts.now()));
}

async function recordWithPrompt(parts: AgentParts): Promise<void> {
  const { queue } = parts;
  for (let next = queue.next("prompt"); next !== undefined; next = queue.next("prompt"))
    await recordQueued(parts, next);
}

/** A text that was not stored goes back to whoever gave it; a message is stored when the run has ended. */
function handBack({ queue }: AgentParts, start: RunStart): Pick<RunResult, "unsent"> {
  if (!isMessage(start)) return { unsent: [start] };
  queue.putBack({ message: start.message, behavior: "steer", triggerTurn: false });
  return {};
}

function runError(error: unknown): BonsaiError {
  if (BonsaiError.is(error)) return error;
  return new BonsaiError({
    code: "run_failed",
    message: `The work broke off: ${messageOf(error)}`,
    hint: "What was done so far is kept. Send the message again; if it happens again, report it with this message.",
    cause: error,
  });
}

/** The messages that were stored below an entry on the way to the leaf, oldest first. */
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

/** Calls of the latest answer that have no result: the program was ended while their tools ran, or the leaf was moved. */
function openCalls(session: Session): ToolCall[] {
  const { items } = session.projection();
  const at = items.findLastIndex(({ message }) => message.role === "assistant");
  const answer = items[at]?.message as AssistantMessage | undefined;
  if (answer === undefined || answer.stopReason === "error" || answer.stopReason === "aborted") return [];
  const answered = new Set(
    items.slice(at + 1).flatMap(({ message }) => (message.role === "toolResult" ? [message.toolCallId] : [])),
  );
  return toolCalls(answer).filter((call) => !answered.has(call.id));
}

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
class RunLoop {
  readonly #options: RunLoopOptions;
  #turnIndex = 0;
  #isInTurn = false;
  /**
   * Since the user last said something, or let the run go on. Text beside tool calls counts for nothing here: nobody has
   * to read it for the run to go on.
   */
  #requests = 0;
  /** True once a request went again because the model had been changed; until a good answer. */
  #hasAskedOther = false;
  #answer: AssistantMessage | undefined;

  constructor(options: RunLoopOptions) {
    this.#options = options;
  }

  /** The latest answer; absent before the first. */
  get answer(): AssistantMessage | undefined {
    return this.#answer;
  }

  /** A turn begins with what the user said, or with a request where nobody said anything. */
  async beginTurn(): Promise<void> {
    const { events, now } = this.#options.parts;
    if (this.#isInTurn) return;
    this.#isInTurn = true;
    await events.notify("turn_start", {
      type: "turn_start",
      turnIndex: this.#turnIndex,
      timestamp: now(),
    });
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
      do {
        const turn = (await this.#beforeRequest(next)) ?? (await this.#turn());
        if (typeof turn === "object") return turn;
        next = turn;
      } while (await this.#goesOn(next));
      if (next === "stopped" && (await this.#compact("afterAnswer")) === "aborted") return aborted;
      // What is delivered here, such as a follow-up, is answered in this run too.
      if (!(await this.#deliver("end"))) return next === "stopped" ? { status: "done" } : aborted;
    }
  }

  /** A model that has stopped goes on for a text that steers it. */
  async #goesOn(next: Next): Promise<boolean> {
    if (next === "cancelled") return false;
    return next !== "stopped" || this.#deliver("answer");
  }

  /** Compacts where that is due, delivers what the user said meanwhile, and looks at the limit, which counts anew then. */
  async #beforeRequest(last: Next | undefined): Promise<RunResult | undefined> {
    const { signal } = this.#options;
    const next = await this.#compact(siteAfter(last));
    if (next === "aborted") return aborted;
    if (next === "wait") {
      // The run ends for the user to say something, unless that waits already.
      if (!(await this.#deliver("end"))) return signal.aborted ? aborted : { status: "paused" };
    } else if (last === "results") await this.#deliver("request");
    const error = signal.aborted ? undefined : await this.#countRequest();
    if (signal.aborted) return aborted;
    return error && { status: "failed", error };
  }

  /** The error with which the run ends, where it may not make one more request. */
  async #countRequest(): Promise<BonsaiError | undefined> {
    const { parts, signal } = this.#options;
    const { runRequests } = parts.settings.limits;
    const requests = this.#requests;
    if (runRequests > 0 && requests >= runRequests) {
      if (!(await parts.confirmLongRun?.({ requests, signal }))) return tooManyRequests(requests);
      this.#requests = 0;
    }
    this.#requests += 1;
    return undefined;
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
    await this.beginTurn();
    const answer = await requestAnswer({ parts, systemPrompt, signal });
    this.#answer = answer.message;
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

/** Where in the run the threshold is looked at; not after a recovery, which has just brought the context down. */
function siteAfter(last: Next | undefined): CompactionSite | undefined {
  if (last === "retry") return undefined;
  return last === "results" || last === "stopped" ? "betweenTools" : "beforePrompt";
}

function tooManyRequests(requests: number): BonsaiError {
  return new BonsaiError({
    code: "run_request_limit",
    message: `The model was asked ${requests.toLocaleString("en")} times in a row without a word from you, and the work was stopped.`,
    hint: "What was done so far is kept: say go on to go on from here. The setting limits.runRequests moves the limit; 0 is none.",
  });
}
