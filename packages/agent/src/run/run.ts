import {
  type AssistantMessage,
  BonsaiError,
  callsIn,
  contentText,
  type ImageContent,
  type Message,
  type ToolCall,
} from "@bonsai-agent/messages";
import { project, type Session } from "@bonsai-agent/session";
import type { CustomInput, PromptInput, RunResult } from "../events.ts";
import { messageOf } from "../notice.ts";
import { errorResult } from "../tools/tool-registry.ts";
import type { AgentParts } from "./agent-parts.ts";
import { recordCustom, recordMessage, recordQueued, recordResult } from "./answer.ts";
import type { RunCompactions } from "./compactions.ts";
import { isMessage, preparedInput, type SaidInput, userMessage } from "./queue.ts";
import { RunLoop } from "./run-loop.ts";

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
  await parts.systemPrompt.renew();
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
async function resultOf(
  { parts, compaction, start: given, signal }: RunOptions,
  { start, custom }: Opening,
): Promise<RunResult> {
  const loop = new RunLoop({ parts, compaction, signal });
  let isStored = false;
  try {
    for (const call of openCalls(parts.session))
      await recordResult(
        parts,
        errorResult(call, "No result: the work stopped before this call ended.", parts.now()),
      );
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

/** Calls of the latest answer without a result: the program ended while the tools ran, or the leaf was moved. */
function openCalls(session: Session): ToolCall[] {
  const { items } = session.projection();
  const at = items.findLastIndex(({ message }) => message.role === "assistant");
  const answer = items[at]?.message as AssistantMessage | undefined;
  if (answer === undefined || answer.stopReason === "error" || answer.stopReason === "aborted") return [];
  const answered = new Set(
    items.slice(at + 1).flatMap(({ message }) => (message.role === "toolResult" ? [message.toolCallId] : [])),
  );
  return callsIn(answer).filter((call) => !answered.has(call.id));
}
