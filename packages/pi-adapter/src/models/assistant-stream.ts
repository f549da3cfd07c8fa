import type { AssistantMessage, ToolCall } from "@bonsai-agent/messages";
import { EventStream } from "./event-stream.ts";

/** An event of a streamed answer in pi's shape. */
export type PiStreamEvent =
  | { type: "start"; partial: AssistantMessage }
  | {
      type: "text_start" | "thinking_start" | "toolcall_start";
      contentIndex: number;
      partial: AssistantMessage;
    }
  | {
      type: "text_delta" | "thinking_delta" | "toolcall_delta";
      contentIndex: number;
      delta: string;
      partial: AssistantMessage;
    }
  | { type: "text_end" | "thinking_end"; contentIndex: number; content: string; partial: AssistantMessage }
  | { type: "toolcall_end"; contentIndex: number; toolCall: ToolCall; partial: AssistantMessage }
  | { type: "done"; reason: string; message: AssistantMessage }
  | { type: "error"; reason: string; error: AssistantMessage };

/** A streamed answer, as pi hands it out and takes it from providers. */
export class AssistantMessageEventStream extends EventStream<PiStreamEvent, AssistantMessage> {
  constructor() {
    super(
      ({ type }) => type === "done" || type === "error",
      (event) => (event.type === "error" ? event.error : (event as { message: AssistantMessage }).message),
    );
  }
}

export function createAssistantMessageEventStream(): AssistantMessageEventStream {
  return new AssistantMessageEventStream();
}
