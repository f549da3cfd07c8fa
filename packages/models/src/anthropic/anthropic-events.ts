import { Stream } from "@anthropic-ai/sdk/core/streaming";
import type { RawMessageStreamEvent } from "@anthropic-ai/sdk/resources/messages";
import { ProviderError } from "../provider.ts";
import { jsonOrText } from "../wire-text.ts";
import { eventRefusal } from "./anthropic-error.ts";

/** What comes in a stream. */
export type AnthropicEvent = RawMessageStreamEvent | { type: "ping" };

/**
 * The events of a response. Throws ProviderError for an error event or one that is no object, and SyntaxError for one that is no JSON. Not the
 * SDK's own list of events, which leaves out what has no name of its own beside its type.
 */
export async function* anthropicEvents(
  response: Response,
  controller: AbortController,
): AsyncGenerator<AnthropicEvent, void, void> {
  for await (const { event, data } of Stream.rawEvents(response, controller)) {
    if (event !== "error" && ["", "[DONE]"].includes(data.trim())) continue;
    const body: unknown = event === "error" ? jsonOrText(data) : JSON.parse(data);
    if (event === "error" || isError(body)) throw eventRefusal(body, response.headers);
    if (typeof body !== "object" || body === null || Array.isArray(body)) throw noEvent(body);
    yield body as AnthropicEvent;
  }
}

function noEvent(body: unknown): ProviderError {
  return new ProviderError({ kind: "garbled", message: "The server sent an event that is no object.", body });
}

function isError(body: unknown): boolean {
  return typeof body === "object" && body !== null && "type" in body && body.type === "error";
}
