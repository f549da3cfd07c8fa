import {
  isTooDeep,
  MAX_LEVELS,
  type ToolCall,
  type ToolResultMessage,
  type Usage,
  type UserContent,
} from "@bonsai-agent/messages";
import { userContentSchema } from "@bonsai-agent/messages/schemas";
import { z } from "zod";

/** A tool that the model can call. */
export interface Tool {
  /** Letters, digits, `_` and `-`; at most 64. */
  name: string;
  /** For people; default the name. */
  label?: string;
  /** For the model: what it does, its limits, when to use it. */
  description: string;
  /** A zod object, a TypeBox object, or the JSON Schema of one. What does not match is an error result, and the tool is not run. */
  parameters: z.ZodType | Readonly<Record<string, unknown>>;
  /** One line about it in the system prompt, while the model is offered it. */
  promptSnippet?: string | undefined;
  /** Lines of advice in the system prompt, while the model is offered it; a line that two tools give stands once. */
  promptGuidelines?: readonly string[] | undefined;
  /** Mends the arguments before they are checked; gets a copy. What it throws is an error result. */
  prepareArguments?: ((args: unknown) => unknown) | undefined;
  /** "sequential": never beside another call. Default "parallel". */
  executionMode?: "parallel" | "sequential";
  /** A throw becomes an error result with its message. Must end soon after the signal is aborted. */
  execute(call: ToolExecution): Promise<ToolResult>;
}

/** A tool whose input is typed by its zod schema. */
export interface ToolDefinition<Schema extends z.ZodType> extends Omit<Tool, "parameters" | "execute"> {
  /** A zod object, which gives `input` its type. */
  parameters: Schema;
  /** As `Tool.execute`. */
  execute(call: ToolExecution<z.output<Schema>>): Promise<ToolResult>;
}

/** Ties the type of a tool's input to its schema. */
export function defineTool<Schema extends z.ZodType>(tool: ToolDefinition<Schema>): Tool {
  return tool as Tool;
}

/** One call of a tool. */
export interface ToolExecution<Input = unknown> {
  /** The call's id. */
  toolCallId: string;
  /** The arguments, checked. */
  input: Input;
  /** Aborted when the user stops the work. */
  signal: AbortSignal;
  /** Shows what there is so far. */
  onUpdate(partial: ToolResult): void;
}

/** What a call gives back. */
export interface ToolResult<Details = unknown> {
  /** What the model sees. */
  content: UserContent[];
  /** What people and programs see; kept with the result, never sent. */
  details?: Details | undefined;
  /** Default false. */
  isError?: boolean | undefined;
  /** What the tool's own model requests used. */
  usage?: Usage | undefined;
  /** True: the model is not asked again, if all results of its answer say so. Default false. */
  terminate?: boolean | undefined;
}

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

/** The schema of a tool's arguments. An optional one may be null: some models fill in all that a schema names. */
export function toolInput<Shape extends z.ZodRawShape>(shape: Shape): z.ZodPreprocess<z.ZodObject<Shape>> {
  return z.preprocess(withoutNulls, z.object(shape));
}

function withoutNulls(input: unknown): unknown {
  if (typeof input !== "object" || input === null) return input;
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null));
}
