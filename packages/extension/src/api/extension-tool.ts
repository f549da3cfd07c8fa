import type { Usage, UserContent } from "@bonsai-agent/messages";
import type { z } from "zod";
import type { Component, Theme, ToolRenderContext, ToolRenderOptions } from "./drawing.ts";
import type { ExtensionContext } from "./extension-context.ts";

/** A zod object, a TypeBox object, or the JSON Schema of one. */
export type ToolParameters = z.ZodType | object;

/** The arguments of `execute`, typed by the schema. */
type ToolInput<Schema> = Schema extends z.ZodType
  ? z.output<Schema>
  : Schema extends { static: infer Static }
    ? Static
    : Record<string, unknown>;

export interface ExtensionToolResult<Details = unknown> {
  /** The content for the model. */
  content: UserContent[];
  /** Data for people, programs and the extension; stored with the result, never sent. */
  details?: Details | undefined;
  /** Default false; a throw is an error too. */
  isError?: boolean | undefined;
  /** The usage of the tool's own model requests. */
  usage?: Usage | undefined;
  /** True: the run ends, if all results of the answer say so. Default false. */
  terminate?: boolean | undefined;
}

export interface ExtensionTool<Schema extends ToolParameters = ToolParameters, Details = unknown> {
  /** Letters, digits, `_` and `-`; at most 64. A built-in tool of the same name is replaced. */
  name: string;
  /** The name for people. Default: the name. */
  label?: string | undefined;
  /** For the model: purpose, limits, when to use it. */
  description: string;
  /** A line about the tool in the system prompt. */
  promptSnippet?: string | undefined;
  /** Lines of advice in the system prompt, while the tool is active. */
  promptGuidelines?: string[] | undefined;
  /** The arguments' schema; checked before `execute` is called. */
  parameters: Schema;
  /**
   * True: the tool checks its arguments itself. The schema is only for the model, and `execute` gets any object.
   * Default false.
   */
  checksArguments?: boolean | undefined;
  /** Corrects arguments before the check. */
  prepareArguments?(args: unknown): unknown;
  /**
   * How a call may be repeated after a crash of a shared session's host: "none", it changes nothing; "idempotent", a
   * second call changes nothing more; "once", the model is told that it may have run. Default "once".
   */
  effects?: "none" | "idempotent" | "once" | undefined;
  /** "sequential": never in parallel with other calls. Default "parallel". */
  executionMode?: "parallel" | "sequential" | undefined;
  /** An error becomes an error result with its message. Must end soon after the signal aborts. */
  execute(
    toolCallId: string,
    params: ToolInput<Schema>,
    signal: AbortSignal,
    onUpdate: (partial: ExtensionToolResult<Details>) => void,
    ctx: ExtensionContext,
  ): ExtensionToolResult<Details> | Promise<ExtensionToolResult<Details>>;
  /**
   * Draws the call in the interactive mode. The model may still be writing the arguments. If it returns nothing or
   * throws, the program draws the call.
   */
  renderCall?(
    args: ToolInput<Schema>,
    theme: Theme,
    context: ToolRenderContext<ToolInput<Schema>>,
  ): Component | undefined;
  /** Draws the result, as `renderCall`. */
  renderResult?(
    result: ExtensionToolResult<Details>,
    options: ToolRenderOptions,
    theme: Theme,
    context: ToolRenderContext<ToolInput<Schema>>,
  ): Component | undefined;
  /** "self": draws the lines without a mark and an indent. Default "default". */
  renderShell?: "default" | "self" | undefined;
}

/** Infers the types of a tool in a variable. */
export function defineTool<Schema extends ToolParameters, Details = unknown>(
  tool: ExtensionTool<Schema, Details>,
): ExtensionTool<Schema, Details> {
  return tool;
}

export interface ToolInfo {
  name: string;
  description: string;
  /** JSON Schema, as sent to the model. */
  parameters: Readonly<Record<string, unknown>>;
  /** Lines of advice in the system prompt, while the tool is active. */
  promptGuidelines?: string[];
  /** The extension's path; absent for a built-in tool. */
  extensionPath?: string;
}
