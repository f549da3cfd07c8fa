import { isRecord, type ToolResultMessage } from "@bonsai-agent/messages";
import { deepCopy, raceAbort } from "@bonsai-agent/messages/host";
import { malformedArguments } from "@bonsai-agent/models/host";
import { z } from "zod";
import { messageOf } from "../notice.ts";
import { fitArguments } from "../tools/fit-arguments.ts";
import { maskedWithin, maskKeys } from "../tools/mask-keys.ts";
import {
  checkedResult,
  errorResult,
  failed,
  readParameters,
  resultMessage,
  type Tool,
  type ToolResult,
} from "../tools/tool-registry.ts";
import type { AgentParts } from "./agent-parts.ts";
import type { AnsweredCall } from "./durable-work.ts";

/**
 * Runs the calls of one answer in parallel, except for sequential tools. Every call gets exactly one result, also after
 * an abort. Returns true if no result needs another request.
 * @param onResult called in the order of the calls, as soon as a call and all before it have ended
 * @throws errors of `onResult`, after it stopped the running tools
 */
export async function runToolBatch(
  parts: AgentParts,
  calls: readonly AnsweredCall[],
  outer: AbortSignal,
  onResult: (result: ToolResultMessage) => Promise<void>,
): Promise<boolean> {
  const { tools, durableWork } = parts;
  durableWork.asked(calls, (name) => tools.get(name));
  const stop = new AbortController();
  const signal = AbortSignal.any([outer, stop.signal]);
  let isLast = calls.length > 0;
  for (const group of groups(parts, calls)) {
    const running = group.map((each) => runCall({ ...each, parts, signal }));
    const ended = Promise.allSettled(running);
    try {
      for (const [at, each] of running.entries()) {
        const { message, terminate } = await each;
        isLast &&= terminate;
        await onResult(message);
        durableWork.settled(group[at]!, tools.get(message.toolName));
      }
    } catch (error) {
      stop.abort(error);
      await ended;
      throw error;
    }
  }
  return isLast;
}

/** Groups of calls that run in parallel. */
function groups({ tools }: AgentParts, calls: readonly AnsweredCall[]): AnsweredCall[][] {
  const found: AnsweredCall[][] = [];
  let isOpen = false;
  for (const each of calls) {
    const isAlone = tools.get(each.call.name)?.executionMode === "sequential";
    if (isOpen && !isAlone) found.at(-1)!.push(each);
    else found.push([each]);
    isOpen = !isAlone;
  }
  return found;
}

interface CallOptions extends AnsweredCall {
  parts: AgentParts;
  signal: AbortSignal;
}

/** Shorter calls store no duration. */
const MIN_SHOWN_DURATION_MS = 1_000;

const NOT_RUN = "Not run: the user stopped the work.";

/**
 * Runs one call: prepares the arguments, asks the guards, checks the arguments, runs the tool, lets extensions change
 * the result. Never throws. `terminate`: the model need not be asked again for this call.
 */
async function runCall(options: CallOptions): Promise<{ message: ToolResultMessage; terminate: boolean }> {
  const { parts, call, signal } = options;
  const { events } = parts;
  const named = { toolCallId: call.id, toolName: call.name };
  if (signal.aborted) return { message: errorResult(call, NOT_RUN, parts.now()), terminate: false };
  const startMs = parts.now();
  await events.notify("tool_execution_start", {
    type: "tool_execution_start",
    ...named,
    args: call.arguments,
  });
  // Arguments that cannot be copied and a schema that throws are errors of the call, too.
  const outcome = await executed(options).catch((error: unknown) => failed(messageOf(error)));
  const result = withoutKeys(options, await changedResult(options, outcome));
  const event = { type: "tool_execution_end" as const, ...named, result, isError: result.isError === true };
  await events.notify("tool_execution_end", event);
  const endMs = parts.now();
  const durationMs = endMs - startMs;
  const message = resultMessage(call, result, endMs);
  return {
    message: durationMs < MIN_SHOWN_DURATION_MS ? message : { ...message, durationMs },
    terminate: result.terminate === true,
  };
}

async function executed(options: CallOptions): Promise<ToolResult> {
  const { parts, call, signal } = options;
  const tool = parts.tools.get(call.name);
  if (tool === undefined) {
    const names = parts.tools.activeTools().map(({ name }) => name);
    return failed(`Unknown tool ${call.name}. Available tools: ${names.join(", ") || "none"}.`);
  }
  const input = preparedInput(tool, call.arguments);
  const asked = { type: "tool_call" as const, toolCallId: call.id, toolName: call.name, input };
  const { result } = await parts.events.decide("tool_call", asked, { signal });
  if (signal.aborted) return failed(NOT_RUN);
  if (result?.block) {
    const { reason = "an extension refused the call.", terminate } = result;
    return { ...failed(`Blocked: ${reason}`), terminate };
  }
  const checked = checkedInput(tool, input);
  if (!checked.ok) return failed(checked.problem);
  await parts.durableWork.started(options, tool, signal);
  return execute(tool, checked.input, options);
}

async function execute(tool: Tool, input: unknown, options: CallOptions): Promise<ToolResult> {
  const { parts, call, signal } = options;
  const { id: toolCallId, name: toolName, arguments: args } = call;
  let hasEnded = false;
  const onUpdate = (partial: ToolResult) => {
    if (hasEnded) return;
    const partialResult = withoutKeys(options, partial);
    const event = { type: "tool_execution_update" as const, toolCallId, toolName, args, partialResult };
    void parts.events.notify("tool_execution_update", event);
  };
  try {
    const own = AbortSignal.any([signal]);
    const running = parts.handlerCalls.run(async () =>
      tool.execute({ toolCallId, input, signal: own, onUpdate }),
    );
    return checkedResult(tool.name, await raceAbort(running, parts.abortGrace.signal));
  } catch (error) {
    if (signal.aborted)
      return failed("The user stopped this call before it ended. Its changes so far remain.");
    return failed(messageOf(error));
  } finally {
    hasEnded = true;
  }
}

/** Masks stored keys. Keys of the environment stay: a project's own files must be written back as they were read. */
function withoutKeys({ parts }: CallOptions, result: ToolResult): ToolResult {
  const mask = maskKeys(parts.models.secrets());
  const content = result.content.map((block) =>
    block.type === "text" ? { ...block, text: mask(block.text) } : block,
  );
  // The user sees the details, such as the diff of an edit.
  const details = maskedWithin(result.details, mask);
  return { ...result, content, ...(details === result.details ? {} : { details }) };
}

async function changedResult({ parts, call }: CallOptions, result: ToolResult): Promise<ToolResult> {
  if (!parts.events.hasHandlers("tool_result")) return result;
  const { content, details, isError = false, usage, terminate } = result;
  const { payload } = await parts.events.decide("tool_result", {
    type: "tool_result",
    ...{ toolCallId: call.id, toolName: call.name, input: call.arguments, content, details, isError },
    ...(usage === undefined ? {} : { usage }),
  });
  const changed = { details: payload.details, isError: payload.isError, usage: payload.usage };
  return { content: [...payload.content], ...changed, terminate };
}

/** Returns the checked arguments of a call, or their problem in words for the model. */
export function checkedInput(
  tool: Tool,
  input: Record<string, unknown>,
): { ok: true; input: unknown } | { ok: false; problem: string } {
  const problem = malformedArguments(input);
  if (problem !== undefined) return { ok: false, problem };
  const result = readParameters(tool).schema.safeParse(input);
  if (result.success) return { ok: true, input: result.data };
  return { ok: false, problem: `Wrong arguments for ${tool.name}: ${z.prettifyError(result.error)}` };
}

/** A copy of the arguments for the guards, prepared by the tool and converted to its schema. @throws errors of the tool */
function preparedInput(tool: Tool, args: unknown): Record<string, unknown> {
  const { name, prepareArguments } = tool;
  const input = deepCopy(args) as Record<string, unknown>;
  if (malformedArguments(input) !== undefined) return input;
  const prepared: unknown = prepareArguments === undefined ? input : prepareArguments(input);
  if (isRecord(prepared)) return fitArguments(prepared, readParameters(tool).json);
  throw new TypeError(`prepareArguments of the tool ${name} returned no object.`);
}
