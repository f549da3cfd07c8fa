import { compactionSettings } from "@bonsai-agent/compaction";
import { serialise } from "@bonsai-agent/compaction/host";
import type { AssistantMessage, Message, ToolResultMessage, UserMessage } from "@bonsai-agent/messages";
import { userContent } from "@bonsai-agent/messages/host";

/** A message with a role that every model knows. */
type LlmMessage = UserMessage | AssistantMessage | ToolResultMessage;

/**
 * Converts messages to a model's view: commands of the user, messages of extensions and summaries become the user's,
 * each in a frame. Messages outside of the context are left out.
 */
export function convertToLlm(messages: readonly Message[]): LlmMessage[] {
  return messages.flatMap((message) => llmMessage(message) ?? []);
}

function llmMessage(message: Message): LlmMessage | undefined {
  switch (message?.role) {
    case "user":
    case "assistant":
    case "toolResult":
      return message;
    case undefined:
    case "system":
      return undefined;
    default: {
      const content = userContent(message);
      return content.length === 0 ? undefined : { role: "user", content, timestamp: message.timestamp };
    }
  }
}

/**
 * Joins messages to one text for a prompt, with calls and shortened results. A summariser reads it instead of
 * continuing the conversation.
 */
export function serializeConversation(messages: readonly Message[]): string {
  return serialise(messages, compactionSettings({}).serialize).join("\n\n");
}
