import { Stream } from "@anthropic-ai/sdk/core/streaming";
import type { RawMessageStreamEvent } from "@anthropic-ai/sdk/resources/messages";
import { eventRefusal } from "./anthropic-error.ts";

/** What comes in a stream; a `ping` says that the server is still at work. */
export type AnthropicEvent = RawMessageStreamEvent | { type: "ping" };

/**
 * The events of a response. Throws ProviderError for an error event and SyntaxError for one that is no JSON. Not the
 * SDK's own list of events, which leaves out the pings and what has no name of its own beside its type.
 */
export async function* anthropicEvents(
  response: Response,
  controller: AbortController,
): AsyncGenerator<AnthropicEvent, void, void> {
  for await (const { event, data } of Stream.rawEvents(response, controller)) {
    if (event !== "error" && (data === "" || data === "[DONE]")) continue;
    const body: unknown = event === "error" ? jsonOrText(data) : JSON.parse(data);
    if (event === "error" || isError(body)) throw eventRefusal(body, response.headers);
    if (typeof body === "object" && body !== null) yield body as AnthropicEvent;
  }
}

function isError(body: unknown): boolean {
  return typeof body === "object" && body !== null && "type" in body && body.type === "error";
}

function jsonOrText(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    // What the server says of its failure counts, in whatever form.
    return data;
  }
}
