import { compactionSettings, serialise } from "@bonsai-agent/compaction";
import {
  type AssistantMessage,
  bashExecutionText,
  type Message,
  type ToolResultMessage,
  type UserMessage,
} from "@bonsai-agent/messages";

/** A message of a kind that every model knows. */
type LlmMessage = UserMessage | AssistantMessage | ToolResultMessage;

/**
 * Messages as a model sees them: commands that the user ran, messages of extensions and summaries become the user's.
 * What is kept out of the context is left out.
 */
export function convertToLlm(messages: readonly Message[]): LlmMessage[] {
  return messages.flatMap((message) => llmMessage(message) ?? []);
}

function llmMessage(message: Message): LlmMessage | undefined {
  switch (message.role) {
    case "user":
    case "assistant":
    case "toolResult":
      return message;
    case "bashExecution":
      return message.excludeFromContext ? undefined : ofUser(bashExecutionText(message), message);
    case "custom":
      return ofUser(message.content, message);
    case "branchSummary":
    case "compactionSummary":
      return ofUser(message.summary, message);
    default:
      return undefined;
  }
}

function ofUser(content: UserMessage["content"], { timestamp }: Pick<UserMessage, "timestamp">): UserMessage {
  const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return { role: "user", content: blocks, timestamp };
}

/**
 * Messages as one text, for a prompt: who said what, with calls, and results cut to head and tail. A summariser reads
 * it instead of continuing the conversation.
 */
export function serializeConversation(messages: readonly Message[]): string {
  return serialise(messages, compactionSettings({}).serialize).join("\n\n");
}
