import type { ToolCall, ToolResultMessage } from "@bonsai-agent/messages";
import { untilAborted, withLinkedSignal } from "./run/linked-signal.ts";
import type { Tool, ToolResult } from "./tool.ts";
import { checkedInput, preparedInput } from "./tool-input.ts";
import { checkedResult, failed, resultMessage } from "./tool-result.ts";
import { maskedWithin, maskKeys } from "./tools/mask-keys.ts";
import type { Workplace } from "./workplace.ts";

export interface CallOptions {
  work: Workplace;
  call: ToolCall;
  signal: AbortSignal;
}

/** A call that has ended. */
export interface EndedCall {
  message: ToolResultMessage;
  /** True where the model need not hear of it. */
  terminate: boolean;
}

/** Runs one call: prepares the arguments, asks the guards, checks the arguments, runs the tool, lets extensions change the result. Never throws. */
export async function runCall(options: CallOptions): Promise<EndedCall> {
  const { work, call } = options;
  const { events } = work;
  const { id: toolCallId, name: toolName, arguments: args } = call;
  await events.notify("tool_execution_start", { type: "tool_execution_start", toolCallId, toolName, args });
  const result = withoutKeys(options, await changedResult(options, await outcome(options)));
  const isError = result.isError === true;
  await events.notify("tool_execution_end", {
    type: "tool_execution_end",
    toolCallId,
    toolName,
    result,
    isError,
  });
  return { message: resultMessage(call, result, work.now()), terminate: result.terminate === true };
}

/** The last net: arguments that cannot be copied, a schema that throws. */
async function outcome(options: CallOptions): Promise<ToolResult> {
  try {
    return await executed(options);
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error));
  }
}

async function executed({ work, call, signal }: CallOptions): Promise<ToolResult> {
  const tool = work.tools.get(call.name);
  if (tool === undefined) return failed(unknownTool(call.name, work));
  const input = preparedInput(tool, call.arguments);
  const asked = { type: "tool_call" as const, toolCallId: call.id, toolName: call.name, input };
  const { result } = await work.events.decide("tool_call", asked, signal);
  if (signal.aborted) return failed("Not run: the user stopped the work.");
  if (result?.block) {
    const { reason = "an extension refused it.", terminate } = result;
    return { ...failed(`Blocked: ${reason}`), terminate };
  }
  const checked = checkedInput(tool, input);
  if (!checked.ok) return failed(checked.problem);
  return execute(tool, checked.input, { work, call, signal });
}

async function execute(tool: Tool, input: unknown, { work, call, signal }: CallOptions): Promise<ToolResult> {
  let hasEnded = false;
  const onUpdate = (partialResult: ToolResult) => {
    const options = { work, call, signal };
    if (!hasEnded) void tellUpdate(options, withoutKeys(options, partialResult));
  };
  try {
    const running = withLinkedSignal(signal, ({ signal: own }) =>
      work.ownWork.run(async () => tool.execute({ toolCallId: call.id, input, signal: own, onUpdate })),
    );
    return checkedResult(tool.name, await untilAborted(running, work.patience.signal));
  } catch (error) {
    if (signal.aborted) return failed("Stopped by the user before it ended; what it did until then stays.");
    return failed(error instanceof Error ? error.message : String(error));
  } finally {
    hasEnded = true;
  }
}

function tellUpdate({ work, call }: CallOptions, partialResult: ToolResult): Promise<void> {
  const { id: toolCallId, name: toolName, arguments: args } = call;
  return work.events.notify("tool_execution_update", {
    type: "tool_execution_update",
    toolCallId,
    toolName,
    args,
    partialResult,
  });
}

/**
 * A tool that reads files can come upon those of keys; what is in the environment is masked in outputs of commands alone,
 * for a project's own files are to be written as they are read.
 */
function withoutKeys({ work }: CallOptions, result: ToolResult): ToolResult {
  const mask = maskKeys(work.models.secrets());
  const content = result.content.map((block) =>
    block.type === "text" ? { ...block, text: mask(block.text) } : block,
  );
  // People see these, such as the diff of an edit.
  const details = maskedWithin(result.details, mask);
  return { ...result, content, ...(details === result.details ? {} : { details }) };
}

async function changedResult({ work, call }: CallOptions, result: ToolResult): Promise<ToolResult> {
  if (!work.events.hasHandlers("tool_result")) return result;
  const { content, details, isError = false, usage, terminate } = result;
  const { payload } = await work.events.decide("tool_result", {
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
    terminate,
  };
}

function unknownTool(name: string, { tools }: Workplace): string {
  return `There is no tool ${name}. The tools are: ${tools.active.join(", ") || "none"}.`;
}
