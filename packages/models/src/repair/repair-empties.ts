import type { AssistantContent, Message, UserContent } from "@bonsai-agent/messages";
import { mended, type RepairContext, type RepairPass } from "./repair-pass.ts";

/** Leaves out messages and blocks that say nothing; a tool's empty result says so. */
export const repairEmpties: RepairPass = (messages, context) =>
  mended(messages, (message) => {
    const filled = withoutEmpties(message);
    if (filled !== message) context.found("empty_message");
    return filled;
  });

/** A conversation begins with the user: what stands first otherwise gets a line before it. */
export const repairBeginning: RepairPass = (messages, { found }: RepairContext) => {
  const first = messages.find((message) => message.role !== "system");
  if (first?.role !== "assistant") return messages;
  found("no_user_first");
  const at = messages.indexOf(first);
  const { timestamp } = first;
  const line: Message = { role: "user", content: "[What came before is no longer shown]", timestamp };
  return [...messages.slice(0, at), line, ...messages.slice(at)];
};

function withoutEmpties(message: Message): Message | undefined {
  switch (message.role) {
    case "user":
    case "custom":
      return typeof message.content === "string"
        ? hasText(message.content)
          ? message
          : undefined
        : filled(message, message.content.filter(isUserBlockFilled));
    case "toolResult": {
      const content = message.content.filter(isUserBlockFilled);
      if (content.length === message.content.length && content.length > 0) return message;
      return { ...message, content: content.length > 0 ? content : [{ type: "text", text: "(no output)" }] };
    }
    case "assistant": {
      const content = message.content.filter(isAnswerBlockFilled);
      // Thinking that nothing follows is refused by every provider that takes thinking at all.
      return content.every((block) => block.type === "thinking") ? undefined : filled(message, content);
    }
    case "branchSummary":
    case "compactionSummary":
      return hasText(message.summary) ? message : undefined;
    default:
      return message;
  }
}

function filled<M extends Extract<Message, { content: unknown[] | string }>>(
  message: M,
  content: readonly (UserContent | AssistantContent)[],
): Message | undefined {
  if (content.length === 0) return undefined;
  return content.length === message.content.length ? message : ({ ...message, content } as Message);
}

function isUserBlockFilled(block: UserContent): boolean {
  return block.type === "image" || hasText(block.text);
}

function isAnswerBlockFilled(block: AssistantContent): boolean {
  if (block.type === "text") return hasText(block.text);
  if (block.type !== "thinking") return true;
  return hasText(block.thinking) || block.thinkingSignature !== undefined;
}

function hasText(text: unknown): boolean {
  return typeof text === "string" && text.trim() !== "";
}
