import type { Usage, UserContent } from "@bonsai-agent/messages";
import type { z } from "zod";
import type { Component, Theme, ToolRenderContext, ToolRenderOptions } from "./drawing.ts";
import type { ExtensionContext } from "./extension-context.ts";

/** A zod object, a TypeBox object, or the JSON Schema of one. */
export type ToolParameters = z.ZodType | object;

/** What `execute` gets: typed by a zod schema, else an object of the shape that the schema says. */
type ToolInput<Schema> = Schema extends z.ZodType
  ? z.output<Schema>
  : Schema extends { static: infer Static }
    ? Static
    : Record<string, unknown>;

export interface ExtensionToolResult<Details = unknown> {
  /** What the model sees. */
  content: UserContent[];
  /** For people, programs and the extension; kept with the result, never sent. */
  details?: Details | undefined;
  /** Default false; a throw is an error too. */
  isError?: boolean | undefined;
  /** What the tool's own model requests used. */
  usage?: Usage | undefined;
  /** True: the model is not asked again, if all results of its answer say so. Default false. */
  terminate?: boolean | undefined;
}

export interface ExtensionTool<Schema extends ToolParameters = ToolParameters, Details = unknown> {
  /** Letters, digits, `_` and `-`; at most 64. A built-in tool of the same name is replaced. */
  name: string;
  /** For people; default the name. */
  label?: string | undefined;
  /** For the model: what it does, its limits, when to use it. */
  description: string;
  /** One line about the tool in the system prompt. */
  promptSnippet?: string | undefined;
  /** Lines of advice in the system prompt, while the tool is active. */
  promptGuidelines?: string[] | undefined;
  /** What the model must give; checked before `execute` is called. */
  parameters: Schema;
  /**
   * True: the tool checks its arguments itself, and gets whatever object the model gives; its JSON Schema is for the model
   * alone, and may say what cannot be checked here. Default false.
   */
  checksArguments?: boolean | undefined;
  /** Mends arguments before they are checked against the schema. */
  prepareArguments?(args: unknown): unknown;
  /** "sequential": never beside another call. Default "parallel". */
  executionMode?: "parallel" | "sequential" | undefined;
  /** A throw becomes an error result with its message. Must end soon after the signal is aborted. */
  execute(
    toolCallId: string,
    params: ToolInput<Schema>,
    signal: AbortSignal,
    onUpdate: (partial: ExtensionToolResult<Details>) => void,
    ctx: ExtensionContext,
  ): ExtensionToolResult<Details> | Promise<ExtensionToolResult<Details>>;
  /**
   * Draws the call in the chat of the interactive mode. The arguments can be incomplete: the model may still write them.
   * Where it gives nothing, or throws, the call is drawn as without it.
   */
  renderCall?(
    args: ToolInput<Schema>,
    theme: Theme,
    context: ToolRenderContext<ToolInput<Schema>>,
  ): Component | undefined;
  /** Draws what came of the call, as `renderCall`. */
  renderResult?(
    result: ExtensionToolResult<Details>,
    options: ToolRenderOptions,
    theme: Theme,
    context: ToolRenderContext<ToolInput<Schema>>,
  ): Component | undefined;
  /** "self": the renderers' lines stand there alone, without a mark and an indent. Default "default". */
  renderShell?: "default" | "self" | undefined;
}

/** Ties the types of a tool's input and details to its schema, for a tool that stands in a variable. */
export function defineTool<Schema extends ToolParameters, Details = unknown>(
  tool: ExtensionTool<Schema, Details>,
): ExtensionTool<Schema, Details> {
  return tool;
}

export interface ToolInfo {
  name: string;
  description: string;
  /** JSON Schema, as the model is given it. */
  parameters: Readonly<Record<string, unknown>>;
  /** Lines of advice in the system prompt, while the tool is active. */
  promptGuidelines?: string[];
  /** The path of the extension that registered it; absent for a built-in tool. */
  extensionPath?: string;
}
