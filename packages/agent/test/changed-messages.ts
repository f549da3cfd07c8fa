import type { AssistantMessage, Message } from "@bonsai-agent/messages";
import { emptyUsage } from "@bonsai-agent/messages";

let ids = 0;

/** A call with its result. */
export function used(
  name: string,
  args: Record<string, unknown>,
  details?: unknown,
  options: { isError?: boolean } = {},
): Message[] {
  const id = `call-${++ids}`;
  return [
    answer("", [{ type: "toolCall", id, name, arguments: args }]),
    {
      role: "toolResult",
      toolCallId: id,
      toolName: name,
      content: [],
      details,
      isError: options.isError ?? false,
      timestamp: 1,
    },
  ];
}

export function answer(text: string, calls: AssistantMessage["content"] = []): AssistantMessage {
  return {
    role: "assistant",
    content: [{ type: "text", text }, ...calls],
    api: "scripted",
    provider: "scripted",
    model: "actor",
    usage: emptyUsage(),
    stopReason: "stop",
    timestamp: 1,
  };
}

export const edit = (path: string, added = 1, removed = 1) =>
  used("edit", { path }, { path, added, removed });
