import { type AssistantMessage, type ToolCall, toolCalls } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";

/** Calls of the latest answer that have no result: the program was ended while their tools ran, or the leaf was moved. */
export function unansweredCalls(session: Session): ToolCall[] {
  const { items } = session.projection();
  const at = items.findLastIndex(({ message }) => message.role === "assistant");
  const answer = items[at]?.message as AssistantMessage | undefined;
  if (answer === undefined || answer.stopReason === "error" || answer.stopReason === "aborted") return [];
  const answered = new Set(
    items.slice(at + 1).flatMap(({ message }) => (message.role === "toolResult" ? [message.toolCallId] : [])),
  );
  return toolCalls(answer).filter((call) => !answered.has(call.id));
}
