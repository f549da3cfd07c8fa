import { compactionSettings } from "@bonsai-agent/compaction";
import { serialise } from "@bonsai-agent/compaction/host";
import type { AssistantMessage, Message, ToolResultMessage, UserMessage } from "@bonsai-agent/messages";
import { userContent } from "@bonsai-agent/messages/host";

/** A message of a kind that every model knows. */
type LlmMessage = UserMessage | AssistantMessage | ToolResultMessage;

/**
 * Messages as a model sees them: commands that the user ran, messages of extensions and summaries become the user's.
 * Each is framed by sentences that say where it ends. What is kept out of the context is left out.
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
 * Messages as one text, for a prompt: who said what, with calls, and results cut to head and tail. A summariser reads
 * it instead of continuing the conversation.
 */
export function serializeConversation(messages: readonly Message[]): string {
  return serialise(messages, compactionSettings({}).serialize).join("\n\n");
}
