import type { CustomMessage } from "@bonsai-agent/messages";
import { messageSchema } from "@bonsai-agent/messages/schemas";
import { isResultContent } from "./tool-result.ts";

// What handlers give back may come from plain JavaScript: what could not be stored or sent is named in a notice and
// counts as no answer, so that it never breaks the run.

type Fields<Name extends string> = { readonly [Each in Name]?: unknown };

export function isInputResult({ text, images }: Fields<"text" | "images">): boolean {
  return isTextOrNone(text) && isContentOrNone(images);
}

export function isStartResult({ message, systemPrompt }: Fields<"message" | "systemPrompt">): boolean {
  return isTextOrNone(systemPrompt) && (message === undefined || isCustomMessage(message));
}

export function isMessageResult({ message }: Fields<"message">): boolean {
  return message === undefined || messageSchema.safeParse(message).success;
}

export function isContextResult({ messages }: Fields<"messages">): boolean {
  return messages === undefined || (Array.isArray(messages) && messages.every(hasRole));
}

export function isToolResult({ content }: Fields<"content">): boolean {
  return isContentOrNone(content);
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || typeof value === "string";
}

function isContentOrNone(value: unknown): boolean {
  return value === undefined || isResultContent(value);
}

function hasRole(message: unknown): boolean {
  return typeof (message as { role?: unknown } | null | undefined)?.role === "string";
}

function isCustomMessage(value: unknown): boolean {
  const { customType, content } = (value ?? {}) as Partial<CustomMessage>;
  return typeof customType === "string" && (typeof content === "string" || isResultContent(content));
}
