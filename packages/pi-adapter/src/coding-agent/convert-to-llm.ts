import { bashExecutionText, type Message, type UserMessage } from "@bonsai-agent/messages";

/**
 * Messages of a session as a model gets them: summaries, messages of extensions and commands of the user become the
 * user's; what is kept from the model is left out.
 */
export function convertToLlm(messages: readonly Message[]): Message[] {
  return messages.flatMap((message): Message[] => {
    switch (message.role) {
      case "bashExecution":
        return message.excludeFromContext ? [] : [asUser(bashExecutionText(message), message.timestamp)];
      case "custom":
        return [asUser(message.content, message.timestamp)];
      case "compactionSummary":
        return [asUser(quoted("earlier-conversation", message.summary), message.timestamp)];
      case "branchSummary":
        return [asUser(quoted("other-branch", message.summary), message.timestamp)];
      case "user":
      case "assistant":
      case "toolResult":
      case "system":
        return [message];
      default:
        return [];
    }
  });
}

function asUser(content: UserMessage["content"], timestamp: number): UserMessage {
  const blocks = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return { role: "user", content: blocks, timestamp };
}

function quoted(tag: string, summary: string): string {
  return `Notes on what happened before:\n<${tag}>\n${summary}\n</${tag}>`;
}
