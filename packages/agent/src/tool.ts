import type { Usage, UserContent } from "@bonsai-agent/messages";
import type { z } from "zod";

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
  parameters: Schema;
  execute(call: ToolExecution<z.output<Schema>>): Promise<ToolResult>;
}

/** Ties the type of a tool's input to its schema. */
export function defineTool<Schema extends z.ZodType>(tool: ToolDefinition<Schema>): Tool {
  return tool as Tool;
}

/** One call of a tool. */
export interface ToolExecution<Input = unknown> {
  toolCallId: string;
  input: Input;
  signal: AbortSignal;
  /** Shows what there is so far. */
  onUpdate(partial: ToolResult): void;
}

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
