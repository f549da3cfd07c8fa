import type { AssistantMessage, ToolCall } from "@bonsai-agent/messages";
import type { ModelFailure } from "./failure.ts";

/**
 * The one stream type. A stream ends with exactly one `done` or `error`, and never throws.
 * `message` is the answer so far; it grows in place until the end.
 */
export type StreamEvent =
  /** An attempt begins. A second one in the same stream is a retry: what came before it is void. */
  | { type: "start"; message: AssistantMessage }
  | { type: "text"; contentIndex: number; delta: string; message: AssistantMessage }
  | { type: "thinking"; contentIndex: number; delta: string; message: AssistantMessage }
  /** Arguments as they come, as JSON text; `toolCall` is there when they are complete. */
  | { type: "tool_call"; contentIndex: number; delta: string; toolCall?: ToolCall; message: AssistantMessage }
  | { type: "done"; message: AssistantMessage }
  /** `failure` is absent when the request was aborted. What had come stands in `message`. */
  | { type: "error"; message: AssistantMessage; failure?: ModelFailure };

export type FinalEvent = Extract<StreamEvent, { type: "done" | "error" }>;

/** Reads a stream to its end. */
export async function finalEvent(stream: AsyncIterable<StreamEvent>): Promise<FinalEvent> {
  let last: StreamEvent | undefined;
  for await (const event of stream) last = event;
  if (last?.type === "done" || last?.type === "error") return last;
  throw new TypeError("A model's stream ended without an answer.");
}
