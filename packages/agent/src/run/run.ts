import {
  type AssistantMessage,
  BonsaiError,
  contentText,
  type ImageContent,
  type Message,
  type ToolCall,
  toolCalls,
} from "@bonsai-agent/messages";
import { project, type Session } from "@bonsai-agent/session";
import type { AgentParts } from "../agent-parts.ts";
import { errorResult } from "../tool.ts";
import type { CompactionTriggers } from "./compaction-triggers.ts";
import { RunLoop } from "./loop.ts";
import { type CustomInput, type PromptInput, type RunResult, userMessage } from "./prompt.ts";
import { askInputHandlers, recordCustom, recordMessage, recordResult } from "./recording.ts";

/** What a run begins with: what somebody says, or a message of an extension. */
export type RunStart = { input: PromptInput } | { message: CustomInput };

interface RunOptions {
  work: AgentParts;
  compaction: CompactionTriggers;
  start: RunStart;
  signal: AbortSignal;
  /** Told of the messages that the run added, after `agent_end`. */
  onEnd?: ((messages: () => readonly Message[], result: RunResult) => void) | undefined;
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
  const { work, start, signal } = options;
  try {
    const opening = await openingOf(options);
    if (signal.aborted) return { status: "aborted", ...unsaid(work, start) };
    return opening === undefined ? { status: "handled" } : await started(options, opening);
  } catch (error) {
    return { status: "failed", error: runError(error), ...unsaid(work, start) };
  }
}

/** A text is handed back; a message is stored when the run has ended. */
function unsaid({ queue }: AgentParts, start: RunStart): Pick<RunResult, "unsent"> {
  if ("input" in start) return { unsent: [start.input] };
  queue.putBack({ message: start.message, behavior: "steer", triggerTurn: false });
  return {};
}

/** Undefined when an extension took the text. */
async function openingOf({ work, start, signal }: RunOptions): Promise<Opening | undefined> {
  const heard = "input" in start ? await hearStart(work, start.input, signal) : start;
  if (heard === undefined || signal.aborted) return undefined;
  const asked = {
    type: "before_agent_start" as const,
    ...promptOf(heard),
    systemPrompt: work.systemPrompt.fresh(),
  };
  const { result, payload } = await work.events.decide("before_agent_start", asked, signal);
  return { start: heard, systemPrompt: payload.systemPrompt, custom: listOf(result?.message) };
}

async function hearStart(
  work: AgentParts,
  input: PromptInput,
  signal: AbortSignal,
): Promise<RunStart | undefined> {
  const heard = await askInputHandlers(work, input, signal);
  return heard && { input: heard };
}

function promptOf(start: RunStart): { prompt: string; images?: ImageContent[] } {
  if ("message" in start) return { prompt: contentText(start.message.content) };
  const { text: prompt, images } = start.input;
  return images === undefined ? { prompt } : { prompt, images: [...images] };
}

/** Whatever happens in between: whoever was told of the start is told of the end. */
async function started(options: RunOptions, opening: Opening): Promise<RunResult> {
  const { events, patience, session, systemPrompt } = options.work;
  const since = session.leafId;
  const messages = () => messagesSince(session, since);
  systemPrompt.runBegins(opening.systemPrompt);
  await events.notify("agent_start", { type: "agent_start" });
  const result = await carriedOut(options, opening);
  patience.extend();
  // The list is made for whoever wants it: a run of days has more messages than should be held in memory for nobody.
  if (events.hasHandlers("agent_end"))
    await events.notify("agent_end", { type: "agent_end", messages: messages(), result });
  systemPrompt.runEnded();
  options.onEnd?.(messages, result);
  return result;
}

async function carriedOut({ work, compaction, signal }: RunOptions, opening: Opening): Promise<RunResult> {
  const loop = new RunLoop({ work, compaction, systemPrompt: opening.systemPrompt, signal });
  let isSaid = false;
  try {
    await prepare(work);
    await say(work, opening.start);
    isSaid = true;
    await sayBeside(work, opening);
    return await loop.run();
  } catch (error) {
    const unsent = isSaid ? {} : unsaid(work, opening.start);
    return { status: "failed", error: runError(error), answer: loop.answer, ...unsent };
  }
}

async function prepare(work: AgentParts): Promise<void> {
  const { session, selection, now } = work;
  for (const call of unansweredCalls(session))
    await recordResult(
      work,
      errorResult(call, "No result: the work was broken off before this call ended.", now()),
    );
  selection.record();
}

/** Writes what the run begins with, so that it is on disk before the request leaves. */
async function say(work: AgentParts, start: RunStart): Promise<void> {
  if ("message" in start) await recordCustom(work, start.message);
  else await recordMessage(work, userMessage(start.input, work.now()));
  work.controller.userMessageArrived();
}

/** What waited for the user's prompt, then what extensions put behind what the run begins with. */
async function sayBeside(work: AgentParts, { start, custom }: Opening): Promise<void> {
  if ("input" in start) await sayWaiting(work);
  for (const message of custom) await recordCustom(work, message);
}

async function sayWaiting(work: AgentParts): Promise<void> {
  const { queue } = work;
  for (let next = queue.takeForNextPrompt(); next !== undefined; next = queue.takeForNextPrompt()) {
    try {
      await recordCustom(work, next);
    } catch (error) {
      queue.putBackForNextPrompt(next);
      throw error;
    }
  }
}

function listOf<Each>(value: Each | readonly Each[] | undefined): readonly Each[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value as Each];
}

function runError(error: unknown): BonsaiError {
  if (BonsaiError.is(error)) return error;
  return new BonsaiError({
    code: "run_failed",
    message: `The work broke off: ${error instanceof Error ? error.message : String(error)}`,
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
function unansweredCalls(session: Session): ToolCall[] {
  const { items } = session.projection();
  const at = items.findLastIndex(({ message }) => message.role === "assistant");
  const answer = items[at]?.message as AssistantMessage | undefined;
  if (answer === undefined || answer.stopReason === "error" || answer.stopReason === "aborted") return [];
  const answered = new Set(
    items.slice(at + 1).flatMap(({ message }) => (message.role === "toolResult" ? [message.toolCallId] : [])),
  );
  return toolCalls(answer).filter((call) => !answered.has(call.id));
}
