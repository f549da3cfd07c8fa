import {
  type AssistantContent,
  type AssistantMessage,
  emptyUsage,
  type Message,
  type ToolResultMessage,
} from "@bonsai-agent/messages";
import type { CatalogueModel } from "../src/model.ts";
import { repairMessages } from "../src/repair/repair.ts";

export const model: CatalogueModel = {
  provider: "scripted",
  id: "scripted",
  name: "Scripted",
  api: "scripted",
  baseUrl: "",
  input: ["text", "image"],
  reasoning: true,
};

export const user = (text: string, timestamp = 0): Message => ({ role: "user", content: text, timestamp });

export const call = (id: string): AssistantContent => ({
  type: "toolCall",
  id,
  name: "read",
  arguments: { path: "a" },
});

export const text = (value: string): AssistantContent => ({ type: "text", text: value });

export const thought = (value: string, thinkingSignature?: string): AssistantContent => ({
  type: "thinking",
  thinking: value,
  ...(thinkingSignature === undefined ? {} : { thinkingSignature }),
});

export const image = (bytes = 12) => ({
  type: "image" as const,
  data: "a".repeat(bytes),
  mimeType: "image/png",
});

export const result = (id: string, said = `result ${id}`): ToolResultMessage => ({
  role: "toolResult",
  toolCallId: id,
  toolName: "read",
  content: [{ type: "text", text: said }],
  isError: false,
  timestamp: 0,
});

export const answer = (
  content: AssistantContent[],
  change: Partial<AssistantMessage> = {},
): AssistantMessage => ({
  role: "assistant",
  content,
  api: "scripted",
  provider: "scripted",
  model: "scripted",
  usage: emptyUsage(),
  stopReason: "stop",
  timestamp: 0,
  ...change,
});

export const repaired = (
  messages: readonly unknown[],
  options: { dropThinkingUpToMs?: number; prefixChangedAtMs?: number } = {},
) => repairMessages({ messages: messages as Message[], model, ...options });

export const kinds = (messages: readonly unknown[]) =>
  repaired(messages).repairs.map(({ kind, count }) => `${kind} ${count}`);

export const shape = (messages: readonly Message[]) =>
  messages.map((message) =>
    message.role === "toolResult"
      ? `T(${message.toolCallId})`
      : message.role === "assistant"
        ? `A(${message.content.map((block) => (block.type === "toolCall" ? block.id : block.type)).join(" ")})`
        : message.role,
  );
