import type { ToolCall, ToolResultMessage } from "@bonsai-agent/messages";
import { MALFORMED_ARGUMENTS } from "@bonsai-agent/models";
import { z } from "zod";
import type { Tool, ToolResult } from "./tool.ts";
import { isZod } from "./tool-registry.ts";
import type { Workplace } from "./workplace.ts";

export interface CallOptions {
  work: Workplace;
  call: ToolCall;
  signal: AbortSignal;
}

/** Runs one call: asks the guards, checks the arguments, runs the tool, lets extensions change the result. Never throws. */
export async function runCall(options: CallOptions): Promise<ToolResultMessage> {
  const { work, call } = options;
  const { lifecycle } = work;
  const { id: toolCallId, name: toolName } = call;
  await lifecycle.notify("tool_execution_start", {
    type: "tool_execution_start",
    toolCallId,
    toolName,
    args: call.arguments,
  });
  const result = await changedResult(options, await executed(options));
  const isError = result.isError === true;
  await lifecycle.notify("tool_execution_end", {
    type: "tool_execution_end",
    toolCallId,
    toolName,
    result,
    isError,
  });
  return resultMessage(call, result, work.now());
}

async function executed({ work, call, signal }: CallOptions): Promise<ToolResult> {
  const tool = work.tools.get(call.name);
  if (tool === undefined) return failed(unknownTool(call.name, work));
  // A copy: what a guard changes is not what the model said.
  const input = structuredClone(call.arguments);
  const decision = await work.lifecycle.decide(
    "tool_call",
    { type: "tool_call", toolCallId: call.id, toolName: call.name, input },
    { signal },
  );
  if (signal.aborted) return failed("Not run: the user stopped the work.");
  if (decision.result?.block)
    return failed(`Blocked: ${decision.result.reason ?? "an extension refused it."}`);
  const checked = checkedInput(tool, input);
  if (!checked.ok) return failed(checked.problem);
  return execute(tool, checked.input, { work, call, signal });
}

async function execute(tool: Tool, input: unknown, { work, call, signal }: CallOptions): Promise<ToolResult> {
  const onUpdate = (partialResult: ToolResult) => {
    void work.lifecycle.notify("tool_execution_update", {
      type: "tool_execution_update",
      toolCallId: call.id,
      toolName: call.name,
      args: call.arguments,
      partialResult,
    });
  };
  try {
    return await tool.execute({ toolCallId: call.id, input, signal, onUpdate });
  } catch (error) {
    if (signal.aborted) return failed("Stopped by the user before it ended; what it did until then stays.");
    return failed(error instanceof Error ? error.message : String(error));
  }
}

async function changedResult({ work, call }: CallOptions, result: ToolResult): Promise<ToolResult> {
  if (!work.lifecycle.hasHandlers("tool_result")) return result;
  const { content, details, isError = false, usage } = result;
  const { payload } = await work.lifecycle.decide("tool_result", {
    type: "tool_result",
    toolCallId: call.id,
    toolName: call.name,
    input: call.arguments,
    content,
    details,
    isError,
    ...(usage === undefined ? {} : { usage }),
  });
  return {
    content: [...payload.content],
    details: payload.details,
    isError: payload.isError,
    usage: payload.usage,
  };
}

type Checked = { ok: true; input: unknown } | { ok: false; problem: string };

function checkedInput(tool: Tool, input: Record<string, unknown>): Checked {
  if (MALFORMED_ARGUMENTS in input) {
    return {
      ok: false,
      problem:
        "The arguments are no JSON object, or they were cut off. Repeat the call with complete arguments; send long contents in smaller pieces.",
    };
  }
  const result = schemaOf(tool).safeParse(input);
  if (result.success) return { ok: true, input: result.data };
  return { ok: false, problem: `Wrong arguments for ${tool.name}: ${z.prettifyError(result.error)}` };
}

const schemas = new WeakMap<Tool, z.ZodType>();

function schemaOf(tool: Tool): z.ZodType {
  const known = schemas.get(tool);
  if (known !== undefined) return known;
  const schema = isZod(tool.parameters) ? tool.parameters : z.fromJSONSchema(tool.parameters as never);
  schemas.set(tool, schema);
  return schema;
}

function unknownTool(name: string, { tools }: Workplace): string {
  return `There is no tool ${name}. The tools are: ${tools.active.join(", ") || "none"}.`;
}

function failed(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

/** The result of a call that was never run. */
export function errorResult(call: ToolCall, text: string, timestamp: number): ToolResultMessage {
  return resultMessage(call, failed(text), timestamp);
}

function resultMessage(call: ToolCall, result: ToolResult, timestamp: number): ToolResultMessage {
  const { content, details, isError = false, usage } = result;
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
