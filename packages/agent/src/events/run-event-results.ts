import type { CustomMessage, Message, ToolResultMessage } from "@bonsai-agent/messages";
import { messageSchema, usageSchema } from "@bonsai-agent/messages/schemas";
import { z } from "zod";
import { isResultContent } from "../tool-result.ts";

// What handlers give back may come from plain JavaScript: what could not be stored or sent is named in a notice and
// counts as no answer, so that it never breaks the run.

type Fields<Name extends string> = { readonly [Each in Name]?: unknown };

export function isInputResult({ text, images }: Fields<"text" | "images">): boolean {
  return isTextOrNone(text) && isContentOrNone(images);
}

export function isStartResult({ message, systemPrompt }: Fields<"message" | "systemPrompt">): boolean {
  return isTextOrNone(systemPrompt) && (message === undefined || [message].flat().every(isCustomMessage));
}

/** The message in the place of another must be one of the same kind, a result one for the same call. */
export function isMessageResult({ message }: Fields<"message">, payload: object): boolean {
  if (message === undefined) return true;
  const checked = messageSchema.safeParse(message);
  if (!checked.success) return false;
  const { message: told } = payload as { message: Message };
  const { role, toolCallId } = checked.data as Partial<ToolResultMessage>;
  return role === told.role && (told.role !== "toolResult" || toolCallId === told.toolCallId);
}

export function isContextResult({ messages }: Fields<"messages">): boolean {
  return messages === undefined || (Array.isArray(messages) && messages.every(hasRole));
}

export function isToolResult({ content, isError, usage }: Fields<"content" | "isError" | "usage">): boolean {
  const isUsage = usage === undefined || usageSchema.safeParse(usage).success;
  return isContentOrNone(content) && isFlagOrNone(isError) && isUsage;
}

/** A guard's fields, or none; whoever gives back something else may have meant a no. */
export function isGuardResult(value: Fields<"block" | "reason">): boolean {
  const { block, reason, ...others } = value;
  if (!isFlagOrNone(block) || !isTextOrNone(reason)) return false;
  return block !== undefined || reason !== undefined || Object.keys(others).length === 0;
}

/** The same, or what a command that the extension ran by itself has put out, or where it is to run. */
export function isCommandGuardResult(value: Fields<"block" | "reason" | "result" | "operations">): boolean {
  const { result, operations, ...guarded } = value;
  if (result !== undefined && !commandOutput.safeParse(result).success) return false;
  if (operations !== undefined && !commandOperations.safeParse(operations).success) return false;
  const isAnswered = result !== undefined || operations !== undefined;
  return isGuardResult(isAnswered ? { ...guarded, block: guarded.block ?? false } : guarded);
}

const commandOperations = z.object({ exec: z.custom((value) => typeof value === "function") });

const commandOutput = z.object({
  output: z.string(),
  exitCode: z.number().optional(),
  cancelled: z.boolean(),
  truncated: z.boolean(),
  fullOutputPath: z.string().optional(),
});

function isFlagOrNone(value: unknown): boolean {
  return value === undefined || typeof value === "boolean";
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
