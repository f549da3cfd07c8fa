import type { Message } from "@bonsai-agent/messages";

/** An answer that failed or was stopped: what came before it is still to be answered, and nothing goes on from it. */
export function isFailedAnswer(message: Message): boolean {
  return message.role === "assistant" && (message.stopReason === "error" || message.stopReason === "aborted");
}
