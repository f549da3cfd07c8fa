import type { AssistantMessage, ToolCall, ToolResultMessage, Usage } from "@bonsai-agent/messages";
import type { ToolDeclaration } from "@bonsai-agent/models";
import type { TranscriptMessage } from "../models/requests.ts";
import { validateToolArguments } from "../models/tool-arguments.ts";

/** What a tool of pi returns. */
export interface AgentToolResult {
  content: ToolResultMessage["content"];
  details?: unknown;
  usage?: Usage;
  /** Ends the run if every call of the answer says so. */
  terminate?: boolean;
}

export type ToolExecutionMode = "sequential" | "parallel";

/** A tool as pi's agent runs it. */
export interface AgentTool extends ToolDeclaration {
  label?: string;
  executionMode?: ToolExecutionMode;
  prepareArguments?(args: unknown): unknown;
  execute(
    toolCallId: string,
    params: unknown,
    signal?: AbortSignal,
    onUpdate?: (partialResult: AgentToolResult) => void,
  ): Promise<AgentToolResult>;
}

/** What a run works on. */
export interface AgentContext {
  messages: TranscriptMessage[];
  tools?: AgentTool[];
}

export interface MessageEvent {
  type: "message_start" | "message_end";
  message: TranscriptMessage;
}

export type ToolResult = ToolResultMessage & { usage?: Usage | undefined };

export type ToolEvent =
  | { type: "tool_execution_start"; toolCallId: string; toolName: string; args: unknown }
  | {
      type: "tool_execution_update";
      toolCallId: string;
      toolName: string;
      args: unknown;
      partialResult: AgentToolResult;
    }
  | {
      type: "tool_execution_end";
      toolCallId: string;
      toolName: string;
      result: AgentToolResult;
      isError: boolean;
    };

interface ToolCallContext {
  assistantMessage: AssistantMessage;
  toolCall: ToolCall;
  args: unknown;
  context: AgentContext;
}

/** Decide about calls, and change results. */
export interface ToolHooks {
  toolExecution?: ToolExecutionMode | undefined;
  beforeToolCall?:
    | ((
        call: ToolCallContext,
        signal?: AbortSignal,
      ) => Promise<{ block?: boolean; reason?: string; terminate?: boolean } | undefined>)
    | undefined;
  afterToolCall?:
    | ((
        call: ToolCallContext & { result: AgentToolResult; isError: boolean },
        signal?: AbortSignal,
      ) => Promise<(Partial<AgentToolResult> & { isError?: boolean }) | undefined>)
    | undefined;
}

interface BatchParts {
  context: AgentContext;
  hooks: ToolHooks;
  emit: (event: ToolEvent | MessageEvent) => Promise<void> | void;
  signal: AbortSignal | undefined;
}

interface Outcome {
  result: AgentToolResult;
  isError: boolean;
}

const cutOff = ({ name }: ToolCall) =>
  `Tool call "${name}" was not executed: the response hit the output token limit, so its arguments may be truncated. Re-issue the tool call with complete arguments.`;

/** Runs the calls of one answer. The results are in the order of the calls. */
export async function runToolCalls(
  message: AssistantMessage,
  calls: readonly ToolCall[],
  parts: BatchParts,
): Promise<{ results: ToolResult[]; shouldStop: boolean }> {
  const { context, hooks, signal } = parts;
  const toolOf = ({ name }: ToolCall) => context.tools?.find((tool) => tool.name === name);
  const isSequential =
    hooks.toolExecution === "sequential" ||
    calls.some((call) => toolOf(call)?.executionMode === "sequential");
  const outcomes: Promise<Outcome & { call: ToolCall }>[] = [];
  for (const call of calls) {
    await parts.emit({ type: "tool_execution_start", ...namesOf(call) });
    const run = await prepare(call, { message, tool: toolOf(call), parts });
    const outcome = finish(call, run, parts);
    outcomes.push(outcome);
    if (isSequential) await outcome;
    if (signal?.aborted) break;
  }
  const done = await Promise.all(outcomes);
  const results: ToolResult[] = [];
  for (const { call, result, isError } of done) {
    const toolResult = resultMessage(call, { result, isError });
    const shown = toolResult as never;
    await parts.emit({ type: "message_start", message: shown });
    await parts.emit({ type: "message_end", message: shown });
    results.push(toolResult);
  }
  return { results, shouldStop: done.every(({ result }) => result.terminate === true) };
}

/** Checks a call. Returns the function that runs it, or the outcome of a call that must not run. */
async function prepare(
  call: ToolCall,
  { message, tool, parts }: { message: AssistantMessage; tool: AgentTool | undefined; parts: BatchParts },
): Promise<() => Promise<Outcome>> {
  const { context, hooks, signal } = parts;
  const refused =
    (reason: string, more = {}) =>
    async () => ({ ...failure(reason), ...more });
  if (message.stopReason === "length") return refused(cutOff(call));
  if (tool === undefined) return refused(`Tool ${call.name} not found`);
  try {
    const given = tool.prepareArguments?.(call.arguments) ?? call.arguments;
    const args = validateToolArguments(tool, { ...call, arguments: given as ToolCall["arguments"] });
    const about = { assistantMessage: message, toolCall: call, args, context };
    const decision = await hooks.beforeToolCall?.(about, signal);
    if (signal?.aborted) return refused("Operation aborted");
    if (decision?.block) {
      const { result, isError } = failure(decision.reason || "Tool execution was blocked");
      const stop = decision.terminate === true ? { terminate: true } : {};
      return async () => ({ result: { ...result, ...stop }, isError });
    }
    return async () => {
      if (signal?.aborted) return failure("Operation aborted");
      const outcome = await execute(tool, { call, args }, parts);
      return changed(outcome, () => hooks.afterToolCall?.({ ...about, ...outcome }, signal));
    };
  } catch (error) {
    return refused(messageOf(error));
  }
}

async function execute(
  tool: AgentTool,
  { call, args }: { call: ToolCall; args: unknown },
  { emit, signal }: BatchParts,
): Promise<Outcome> {
  const updates: (Promise<void> | void)[] = [];
  let isRunning = true;
  const onUpdate = (partialResult: AgentToolResult) => {
    if (isRunning) updates.push(emit({ type: "tool_execution_update", ...namesOf(call), partialResult }));
  };
  try {
    return { result: await tool.execute(call.id, args, signal, onUpdate), isError: false };
  } catch (error) {
    return failure(messageOf(error));
  } finally {
    isRunning = false;
    await Promise.all(updates);
  }
}

async function changed(
  { result, isError }: Outcome,
  change: () => ReturnType<NonNullable<ToolHooks["afterToolCall"]>> | undefined,
): Promise<Outcome> {
  try {
    const { isError: nowError = isError, ...fields } = (await change()) ?? {};
    return { result: { ...result, ...fields }, isError: nowError };
  } catch (error) {
    return failure(messageOf(error));
  }
}

async function finish(
  call: ToolCall,
  run: () => Promise<Outcome>,
  { emit }: BatchParts,
): Promise<Outcome & { call: ToolCall }> {
  const outcome = await run();
  const { toolCallId, toolName } = namesOf(call);
  await emit({ type: "tool_execution_end", toolCallId, toolName, ...outcome });
  return { ...outcome, call };
}

function namesOf({ id, name, arguments: args }: ToolCall) {
  return { toolCallId: id, toolName: name, args };
}

function failure(text: string): Outcome {
  return { result: { content: [{ type: "text", text }], details: {} }, isError: true };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function resultMessage({ id, name }: ToolCall, { result, isError }: Outcome): ToolResult {
  const { content, details, usage } = result;
  return {
    role: "toolResult",
    toolCallId: id,
    toolName: name,
    content: content ?? [],
    details,
    ...(usage && { usage }),
    isError,
    timestamp: Date.now(),
  };
}
