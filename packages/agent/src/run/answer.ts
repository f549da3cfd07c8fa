import {
  type AssistantMessage,
  BonsaiError,
  deepCopy,
  type Message,
  type Usage,
} from "@bonsai-agent/messages";
import {
  EMPTY_ANSWER,
  type FinalEvent,
  type ModelFailure,
  type ModelRequest,
  type StreamEvent,
} from "@bonsai-agent/models";
import { type Entry, pinChange, type Session, UNDO_CUSTOM_TYPE } from "@bonsai-agent/session";
import type { AgentParts } from "../agent-parts.ts";
import { contextUsage } from "../agent-state.ts";
import { type AgentNotice, messageOf, modelNotice } from "../notice.ts";
import { withLinkedSignal } from "./activity.ts";
import { storeMessage } from "./recording.ts";

/** An answer as it was stored. */
export interface Answer {
  message: AssistantMessage;
  entryId: string;
  status: "good" | "aborted" | "failed";
  /** With the status `failed`. */
  failure?: ModelFailure | undefined;
}

interface AnswerOptions {
  parts: AgentParts;
  systemPrompt: string;
  signal: AbortSignal;
}

/** Sends the context to the model, fires events as the answer streams in, and stores it. */
export async function requestAnswer(options: AnswerOptions): Promise<Answer> {
  return withLinkedSignal(options.signal, async ({ signal }) => {
    const { parts } = options;
    const voided: Usage[] = [];
    const request = await buildRequest({ ...options, signal }, (usage) => voided.push(usage));
    const final = await readStream(parts, request, signal);
    recordVoided(parts, request, voided);
    const { message, entryId } = await storeMessage(parts, final.message);
    if (message.stopReason === "aborted") return { message, entryId, status: "aborted" };
    if (final.type === "error") return { message, entryId, status: "failed", failure: final.failure };
    if (message.stopReason === "length") parts.onNotice(cutOff);
    parts.prefix.answered({ request, answer: message, atMs: parts.now() });
    return { message, entryId, status: "good" };
  });
}

const cutOff: AgentNotice = {
  level: "warning",
  code: "answer_cut_off",
  message: "The answer was cut off at its output limit. Say go on, or ask for less at a time.",
};

/** The stream's end, whatever happens: an answer that was begun is stored as far as it came. */
async function readStream(
  parts: AgentParts,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<FinalEvent> {
  let latest: StreamEvent | undefined;
  try {
    for await (const event of parts.models.stream(request)) {
      await notifyUpdate(parts, event, latest);
      latest = event;
    }
    if (latest?.type === "done" || latest?.type === "error") return latest;
    throw new TypeError(`The model's stream ${latest ? "ended without an answer" : "had no events"}.`);
  } catch (error) {
    if (latest === undefined) throw error;
    return brokenOff(latest.message, request, { error, signal });
  }
}

function brokenOff(
  message: AssistantMessage,
  { model }: ModelRequest,
  { error, signal }: { error: unknown; signal: AbortSignal },
): FinalEvent {
  message.stopReason = signal.aborted ? "aborted" : "error";
  if (signal.aborted) return { type: "error", message };
  const why = messageOf(error);
  message.errorMessage = why;
  const { provider, id: modelId } = model;
  const failure: ModelFailure = { kind: "other", message: why, provider, modelId, retryable: false };
  return { type: "error", message, failure };
}

/** A second start is a retry: the message that was begun goes on, empty again. */
async function notifyUpdate(
  { events }: AgentParts,
  event: StreamEvent,
  latest: StreamEvent | undefined,
): Promise<void> {
  const { message } = event;
  if (event.type === "start" && latest === undefined)
    await events.notify("message_start", { type: "message_start", message });
  else if (events.hasHandlers("message_update"))
    await events.notify("message_update", { type: "message_update", message, assistantMessageEvent: event });
}

/** What attempts used that another one followed: it was paid for, and no answer has it. */
function recordVoided({ session }: AgentParts, { model }: ModelRequest, voided: readonly Usage[]): void {
  const { provider, id } = model;
  session.append(voided.map((usage) => ({ type: "usage", kind: "retry", provider, model: id, usage })));
}

async function buildRequest(
  { parts, systemPrompt, signal }: AnswerOptions,
  onVoidedUsage: (usage: Usage) => void,
): Promise<ModelRequest> {
  const { events, selection, session, tools } = parts;
  return {
    model: selection.model,
    purpose: "turn",
    systemPrompt,
    tools: tools.declarations(),
    messages: await contextMessages(parts, signal),
    contextTokens: () => contextUsage(parts).tokens,
    prefixChangedAtMs: prefixChangedAtMs(session),
    thinking: selection.thinking,
    cacheKey: session.id,
    signal,
    onPayload: async (body) => {
      const asked = { type: "before_provider_request" as const, payload: body };
      return (await events.decide("before_provider_request", asked, { signal })).payload.payload;
    },
    onResponse: ({ status, headers }) =>
      events.notify("after_provider_response", { type: "after_provider_response", status, headers }),
    onVoidedUsage,
    onNotice: (notice) => parts.onNotice(modelNotice(notice)),
  };
}

/** Extensions get a copy: what they do to it in place must not reach what the session holds. */
async function contextMessages(
  { events, session }: AgentParts,
  signal: AbortSignal,
): Promise<readonly Message[]> {
  const projected = session.projection().items.map((item) => item.message);
  if (!events.hasHandlers("context")) return projected;
  const copy = deepCopy(projected);
  const { payload } = await events.decide("context", { type: "context", messages: copy }, { signal });
  return payload.messages === copy ? projected : payload.messages;
}

/**
 * When what signed thinking is bound to was last changed, other than by a compaction; undefined for never. A tool's
 * result may be masked in the middle of a task: the task's own thinking stays good, and providers want it back.
 */
function prefixChangedAtMs(session: Session): number | undefined {
  for (const entry of session.tail()) if (changesPrefix(session, entry)) return Date.parse(entry.timestamp);
  return undefined;
}

function changesPrefix(session: Session, entry: Entry): boolean {
  if (entry.type === "custom") return entry.customType === UNDO_CUSTOM_TYPE;
  if (pinChange(entry)?.isPinned === false) return true;
  return entry.type === "context_edit" && !isBesideThinking(session.entry(entry.targetId));
}

/** A result's content, and an answer that failed: no request had it among what it was thought about. */
function isBesideThinking(edited: Entry | undefined): boolean {
  if (edited?.type !== "message") return false;
  const { message } = edited;
  return message.role === "toolResult" || (message.role === "assistant" && message.stopReason === "error");
}

/** The error with which a run ends whose request failed. */
export function modelFailed({ failure, message }: Answer): BonsaiError {
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
