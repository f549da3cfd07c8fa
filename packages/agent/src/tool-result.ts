import { isTooDeep, MAX_LEVELS, type ToolCall, type ToolResultMessage } from "@bonsai-agent/messages";
import { userContentSchema } from "@bonsai-agent/messages/schemas";
import { z } from "zod";
import type { ToolResult } from "./tool.ts";

const contents = z.array(userContentSchema);

/** What a tool gave back, where it is a result; else an error that says so, for tools come from anywhere. */
export function checkedResult(toolName: string, result: unknown): ToolResult {
  const { content } = (result ?? {}) as Partial<ToolResult>;
  if (contents.safeParse(content).success) return result as ToolResult;
  return failed(`The tool ${toolName} gave back no result: its content is ${describe(content)}.`);
}

function describe(content: unknown): string {
  return Array.isArray(content)
    ? "a list with something else than texts and images"
    : `of type ${typeof content}`;
}

/** True for what a result's content may be. */
export function isResultContent(content: unknown): boolean {
  return contents.safeParse(content).success;
}

export function failed(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

/** What is nested too deep is left out: it could not be stored, and the model sees no details. */
function storableResult(toolName: string, result: ToolResult): ToolResult {
  const problem = `It is nested deeper than ${MAX_LEVELS} levels.`;
  if (isNestedTooDeep(result.content))
    return failed(`The tool ${toolName} gave back no result that can be stored. ${problem}`);
  return isNestedTooDeep(result.details) ? { ...result, details: { unstorable: problem } } : result;
}

/** A circle has no end either; whoever stores it says so. */
function isNestedTooDeep(value: unknown): boolean {
  if (!isTooDeep(value)) return false;
  try {
    JSON.stringify(value);
    return true;
  } catch (error) {
    return error instanceof RangeError;
  }
}

/** The result of a call that was never run. */
export function errorResult(call: ToolCall, text: string, timestamp: number): ToolResultMessage {
  return resultMessage(call, failed(text), timestamp);
}

export function resultMessage(call: ToolCall, result: ToolResult, timestamp: number): ToolResultMessage {
  const { content, details, isError = false, usage } = storableResult(call.name, result);
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content,
    ...(details === undefined ? {} : { details }),
    ...(usage === undefined ? {} : { usage }),
    isError,
    timestamp,
  };
}
