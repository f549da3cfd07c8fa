import type { ResultOf } from "@bonsai-agent/lifecycle";
import { BonsaiError, type Message } from "@bonsai-agent/messages";
import type { RunEvents } from "../events/run-events.ts";
import { errorResult } from "../tool-result.ts";
import type { Workplace } from "../workplace.ts";
import type { CompactionTriggers } from "./compaction-triggers.ts";
import { hearInput } from "./hear-input.ts";
import type { PromptInput } from "./prompt-input.ts";
import { recordMessage, recordResult } from "./record-message.ts";
import { RunLoop } from "./run-loop.ts";
import { messagesSince } from "./run-messages.ts";
import type { RunResult } from "./run-result.ts";
import { unansweredCalls } from "./unanswered-calls.ts";
import { userMessage } from "./user-message.ts";

export interface RunOptions {
  work: Workplace;
  compaction: CompactionTriggers;
  input: PromptInput;
  signal: AbortSignal;
  /** Told of the messages that the run added, after `agent_end`. */
  onEnd?: ((messages: () => readonly Message[], result: RunResult) => void) | undefined;
}

/** How a run begins, as extensions left it. */
interface Opening {
  input: PromptInput;
  systemPrompt: string;
  /** Put behind the user's message. */
  custom: ResultOf<RunEvents["before_agent_start"]>["message"];
}

/** From a text to the result of the run that it started. Never rejects. */
export async function run(options: RunOptions): Promise<RunResult> {
  const { input, signal } = options;
  try {
    const opening = await openingOf(options);
    if (signal.aborted) return { status: "aborted", unsent: [input] };
    return opening === undefined ? { status: "handled" } : await started(options, opening);
  } catch (error) {
    return { status: "failed", error: runError(error), unsent: [input] };
  }
}

/** Undefined when an extension took the text. */
async function openingOf({ work, input, signal }: RunOptions): Promise<Opening | undefined> {
  const heard = await hearInput(work, input, signal);
  if (heard === undefined || signal.aborted) return undefined;
  const { text: prompt, images } = heard;
  const asked = {
    type: "before_agent_start" as const,
    prompt,
    systemPrompt: work.systemPrompt(),
    ...(images === undefined ? {} : { images: [...images] }),
  };
  const { result, payload } = await work.events.decide("before_agent_start", asked, signal);
  return { input: heard, systemPrompt: payload.systemPrompt, custom: result?.message };
}

/** Whatever happens in between: whoever was told of the start is told of the end. */
async function started(options: RunOptions, opening: Opening): Promise<RunResult> {
  const { events, patience, session } = options.work;
  const since = session.leafId;
  const messages = () => messagesSince(session, since);
  await events.notify("agent_start", { type: "agent_start" });
  const result = await carriedOut(options, opening);
  patience.extend();
  // The list is made for whoever wants it: a run of days has more messages than should be held in memory for nobody.
  if (events.hasHandlers("agent_end"))
    await events.notify("agent_end", { type: "agent_end", messages: messages(), result });
  options.onEnd?.(messages, result);
  return result;
}

async function carriedOut({ work, compaction, signal }: RunOptions, opening: Opening): Promise<RunResult> {
  const loop = new RunLoop({ work, compaction, systemPrompt: opening.systemPrompt, signal });
  let isSaid = false;
  try {
    await record(work, opening);
    isSaid = true;
    return await loop.run();
  } catch (error) {
    const unsent = isSaid ? {} : { unsent: [opening.input] };
    return { status: "failed", error: runError(error), answer: loop.answer, ...unsent };
  }
}

/** Writes what the run begins with, so that the user's message is on disk before the request leaves. */
async function record(work: Workplace, { input, custom }: Opening): Promise<void> {
  const { session, selection, controller, now } = work;
  for (const call of unansweredCalls(session))
    await recordResult(
      work,
      errorResult(call, "No result: the work was broken off before this call ended.", now()),
    );
  selection.record();
  await recordMessage(work, userMessage(input, now()));
  controller.userMessageArrived();
  if (custom !== undefined) session.append({ type: "custom_message", ...custom });
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
