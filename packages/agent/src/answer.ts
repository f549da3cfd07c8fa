import type { AssistantMessage } from "@bonsai-agent/messages";
import type { FinalEvent, ModelFailure, ModelRequest, StreamEvent } from "@bonsai-agent/models";
import { storeMessage } from "./record-message.ts";
import type { Workplace } from "./workplace.ts";

/** An answer as it was stored. */
export interface Answer {
  message: AssistantMessage;
  entryId: string;
  /** Why there is no good answer; absent for a good one and for an aborted one. */
  failure?: ModelFailure | undefined;
}

export interface AnswerOptions {
  work: Workplace;
  systemPrompt: string;
  signal: AbortSignal;
}

/** Sends the context to the model, tells of the answer as it streams in, and stores it. */
export async function requestAnswer({ work, systemPrompt, signal }: AnswerOptions): Promise<Answer> {
  const request = await buildRequest({ work, systemPrompt, signal });
  let final: FinalEvent | undefined;
  for await (const event of work.models.stream(request)) {
    await tell(work, event);
    if (event.type === "done" || event.type === "error") final = event;
  }
  if (final === undefined) throw new TypeError("A model's stream ended without an answer.");
  const { message, entryId } = await storeMessage(work, final.message);
  return { message, entryId, ...(final.type === "error" ? { failure: final.failure } : {}) };
}

async function tell(work: Workplace, event: StreamEvent): Promise<void> {
  const { message } = event;
  if (event.type === "start")
    await work.lifecycle.notify("message_start", { type: "message_start", message });
  else if (work.lifecycle.hasHandlers("message_update"))
    await work.lifecycle.notify("message_update", {
      type: "message_update",
      message,
      assistantMessageEvent: event,
    });
}

async function buildRequest({ work, systemPrompt, signal }: AnswerOptions): Promise<ModelRequest> {
  const { lifecycle, selection, session, tools } = work;
  const projected = session.projection().items.map((item) => item.message);
  const { payload } = await lifecycle.decide("context", { type: "context", messages: projected }, { signal });
  return {
    model: selection.model,
    purpose: "turn",
    systemPrompt,
    tools: tools.declarations(),
    messages: payload.messages,
    thinking: selection.thinking,
    cacheKey: session.id,
    signal,
    onPayload: async (body) => {
      const asked = { type: "before_provider_request" as const, payload: body };
      return (await lifecycle.decide("before_provider_request", asked, { signal })).payload.payload;
    },
    onResponse: ({ status, headers }) =>
      lifecycle.notify("after_provider_response", { type: "after_provider_response", status, headers }),
    onNotice: (notice) => work.onNotice(modelNotice(notice)),
  };
}

function modelNotice(notice: Parameters<NonNullable<ModelRequest["onNotice"]>>[0]) {
  switch (notice.type) {
    case "retry":
      return {
        level: "warning" as const,
        code: "model_retry",
        message: `${notice.failure.message} Retry ${notice.attempt} of ${notice.maxAttempts} in ${Math.ceil(notice.delayMs / 1000)} s.`,
      };
    case "repair":
      return {
        level: "info" as const,
        code: "history_repaired",
        message: notice.repairs.map((repair) => repair.detail).join(" "),
      };
    case "output_cap_lowered":
      return {
        level: "info" as const,
        code: "output_cap_lowered",
        message: `The answer may have ${notice.toTokens.toLocaleString("en")} tokens instead of ${notice.fromTokens.toLocaleString("en")}: more does not fit the model's window.`,
      };
    case "window_learned":
      return {
        level: "warning" as const,
        code: "window_learned",
        message: `The server's window is ${notice.toTokens.toLocaleString("en")} tokens, not ${notice.fromTokens?.toLocaleString("en") ?? "unknown"}; that holds for this session.`,
      };
  }
}
