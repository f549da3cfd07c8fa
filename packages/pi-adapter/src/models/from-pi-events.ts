import type { AssistantMessage } from "@bonsai-agent/messages";
import { classifyFailure, type ModelFailure, ProviderError, type StreamEvent } from "@bonsai-agent/models";
import type { PiStreamEvent } from "./assistant-stream.ts";

/** The events of an answer, at once or when there are any. */
export type PiEventSource = AsyncIterable<PiStreamEvent> | Promise<AsyncIterable<PiStreamEvent>>;

/**
 * What a provider that was written for pi streams, as ours; what has no counterpart is left out.
 * @throws Error when the source is no stream
 */
export async function* fromPiEvents(source: PiEventSource): AsyncIterable<StreamEvent> {
  const events = await source;
  if (!events?.[Symbol.asyncIterator])
    throw new Error("streamSimple of the provider gave back no stream of events.");
  for await (const event of events) {
    const told = ofPiEvent(event);
    if (told !== undefined) yield told;
  }
}

function ofPiEvent(event: PiStreamEvent): StreamEvent | undefined {
  switch (event.type) {
    case "start":
      return { type: "start", message: event.partial };
    case "text_delta":
    case "thinking_delta": {
      const { contentIndex, delta, partial: message } = event;
      return { type: event.type === "text_delta" ? "text" : "thinking", contentIndex, delta, message };
    }
    case "toolcall_delta":
      return {
        type: "tool_call",
        contentIndex: event.contentIndex,
        delta: event.delta,
        message: event.partial,
      };
    case "toolcall_end": {
      const { contentIndex, toolCall, partial: message } = event;
      return { type: "tool_call", contentIndex, delta: "", toolCall, message };
    }
    case "done":
      return { type: "done", message: event.message };
    case "error":
      return { type: "error", message: event.error, ...failureOf(event.error) };
    default:
      return undefined;
  }
}

function failureOf(answer: AssistantMessage): { failure?: ModelFailure } {
  if (answer.stopReason === "aborted") return {};
  const error = new ProviderError({
    kind: "refused",
    message: answer.errorMessage ?? "The provider failed.",
  });
  return { failure: classifyFailure({ error, provider: answer.provider, modelId: answer.model }) };
}
