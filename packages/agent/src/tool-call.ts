import { deepCopy, MAX_LEVELS, type ToolCall, type ToolResultMessage } from "@bonsai-agent/messages";
import { MALFORMED_ARGUMENTS } from "@bonsai-agent/models";
import { z } from "zod";
import type { AgentParts } from "./agent-parts.ts";
import { untilAborted, withLinkedSignal } from "./run/activity.ts";
import { checkedResult, errorResult, failed, resultMessage, type Tool, type ToolResult } from "./tool.ts";
import { readParameters } from "./tool-registry.ts";
import { maskedWithin, maskKeys } from "./tools/mask-keys.ts";

interface ToolBatchOptions {
  parts: AgentParts;
  calls: readonly ToolCall[];
  signal: AbortSignal;
  /** Called in the order of the calls, each as soon as it and those before it have ended. */
  onResult: (result: ToolResultMessage) => Promise<void>;
}

/**
 * Runs the calls of one answer: side by side, except for tools that want to be alone. Every call gets exactly one
 * result, also after an abort.
 * @returns true when all results say that the model need not be asked again
 * @throws what `onResult` throws, after the tools that still run were stopped.
 */
export function runToolBatch(options: ToolBatchOptions): Promise<boolean> {
  return withLinkedSignal(options.signal, async (own) => {
    const batch = { ...options, signal: own.signal };
    const delivery = new Delivery(options.onResult, (error) => own.abort(error));
    let isLast = options.calls.length > 0;
    const runAt = async (index: number) => {
      const { message, terminate } = await endOf(batch, options.calls[index]!);
      isLast &&= terminate;
      await delivery.add(index, message);
    };
    for (const group of groups(batch)) await Promise.all(group.map(runAt));
    delivery.throwIfFailed();
    return isLast;
  });
}

/** Owner of the order in which results are handed on. */
class Delivery {
  readonly #onResult: ToolBatchOptions["onResult"];
  readonly #onFailure: (error: unknown) => void;
  readonly #ended = new Map<number, ToolResultMessage>();
  #next = 0;
  #delivering = Promise.resolve();
  #failure: { error: unknown } | undefined;

  constructor(onResult: ToolBatchOptions["onResult"], onFailure: (error: unknown) => void) {
    this.#onResult = onResult;
    this.#onFailure = onFailure;
  }

  add(index: number, result: ToolResultMessage): Promise<void> {
    this.#ended.set(index, result);
    this.#delivering = this.#delivering.then(() => this.#deliver());
    return this.#delivering;
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #deliver(): Promise<void> {
    for (let result = this.#ended.get(this.#next); result !== undefined; ) {
      if (this.#failure !== undefined) return;
      this.#ended.delete(this.#next);
      this.#next += 1;
      try {
        await this.#onResult(result);
      } catch (error) {
        this.#failure = { error };
        this.#onFailure(error);
      }
      result = this.#ended.get(this.#next);
    }
  }
}

/** Indices of calls that run together. */
function groups({ parts, calls }: ToolBatchOptions): number[][] {
  const found: number[][] = [];
  let isOpen = false;
  for (const [index, call] of calls.entries()) {
    const isAlone = parts.tools.get(call.name)?.executionMode === "sequential";
    if (isOpen && !isAlone) found.at(-1)!.push(index);
    else found.push([index]);
    isOpen = !isAlone;
  }
  return found;
}

async function endOf({ parts, signal }: ToolBatchOptions, call: ToolCall): Promise<EndedCall> {
  if (signal.aborted) {
    const message = errorResult(call, "Not run: the user stopped the work.", parts.now());
    return { message, terminate: false };
  }
  return runCall({ parts, call, signal });
}

interface CallOptions {
  parts: AgentParts;
  call: ToolCall;
  signal: AbortSignal;
}

/** A call that has ended. */
interface EndedCall {
  message: ToolResultMessage;
  /** True where the model need not hear of it. */
  terminate: boolean;
}

/** Runs one call: prepares the arguments, asks the guards, checks the arguments, runs the tool, lets extensions change the result. Never throws. */
async function runCall(options: CallOptions): Promise<EndedCall> {
  const { parts, call } = options;
  const { events } = parts;
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
  return { message: resultMessage(call, result, parts.now()), terminate: result.terminate === true };
}

/** The last net: arguments that cannot be copied, a schema that throws. */
async function outcome(options: CallOptions): Promise<ToolResult> {
  try {
    return await executed(options);
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error));
  }
}

async function executed({ parts, call, signal }: CallOptions): Promise<ToolResult> {
  const tool = parts.tools.get(call.name);
  if (tool === undefined) return failed(unknownTool(call.name, parts));
  const input = preparedInput(tool, call.arguments);
  const asked = { type: "tool_call" as const, toolCallId: call.id, toolName: call.name, input };
  const { result } = await parts.events.decide("tool_call", asked, signal);
  if (signal.aborted) return failed("Not run: the user stopped the work.");
  if (result?.block) {
    const { reason = "an extension refused it.", terminate } = result;
    return { ...failed(`Blocked: ${reason}`), terminate };
  }
  const checked = checkedInput(tool, input);
  if (!checked.ok) return failed(checked.problem);
  return execute(tool, checked.input, { parts, call, signal });
}

async function execute(
  tool: Tool,
  input: unknown,
  { parts, call, signal }: CallOptions,
): Promise<ToolResult> {
  let hasEnded = false;
  const onUpdate = (partialResult: ToolResult) => {
    const options = { parts, call, signal };
    if (!hasEnded) void tellUpdate(options, withoutKeys(options, partialResult));
  };
  try {
    const running = withLinkedSignal(signal, ({ signal: own }) =>
      parts.awaitedCalls.run(async () => tool.execute({ toolCallId: call.id, input, signal: own, onUpdate })),
    );
    return checkedResult(tool.name, await untilAborted(running, parts.gracePeriod.signal));
  } catch (error) {
    if (signal.aborted) return failed("Stopped by the user before it ended; what it did until then stays.");
    return failed(error instanceof Error ? error.message : String(error));
  } finally {
    hasEnded = true;
  }
}

function tellUpdate({ parts, call }: CallOptions, partialResult: ToolResult): Promise<void> {
  const { id: toolCallId, name: toolName, arguments: args } = call;
  return parts.events.notify("tool_execution_update", {
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
function withoutKeys({ parts }: CallOptions, result: ToolResult): ToolResult {
  const mask = maskKeys(parts.models.secrets());
  const content = result.content.map((block) =>
    block.type === "text" ? { ...block, text: mask(block.text) } : block,
  );
  // People see these, such as the diff of an edit.
  const details = maskedWithin(result.details, mask);
  return { ...result, content, ...(details === result.details ? {} : { details }) };
}

async function changedResult({ parts, call }: CallOptions, result: ToolResult): Promise<ToolResult> {
  if (!parts.events.hasHandlers("tool_result")) return result;
  const { content, details, isError = false, usage, terminate } = result;
  const { payload } = await parts.events.decide("tool_result", {
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

function unknownTool(name: string, { tools }: AgentParts): string {
  return `There is no tool ${name}. The tools are: ${tools.active.join(", ") || "none"}.`;
}

type CheckedInput = { ok: true; input: unknown } | { ok: false; problem: string };

/** The arguments of a call as its tool takes them, or what is wrong with them, in words for the model. */
export function checkedInput(tool: Tool, input: Record<string, unknown>): CheckedInput {
  if (MALFORMED_ARGUMENTS in input) {
    return {
      ok: false,
      problem: malformed(input[MALFORMED_ARGUMENTS]),
    };
  }
  const result = readParameters(tool).schema.safeParse(input);
  if (result.success) return { ok: true, input: result.data };
  return { ok: false, problem: `Wrong arguments for ${tool.name}: ${z.prettifyError(result.error)}` };
}

/** Whole JSON objects are malformed only where they are nested too deep. */
function malformed(text: unknown): string {
  if (isJsonObject(text))
    return `The arguments are nested deeper than ${MAX_LEVELS} levels. Repeat the call with flatter arguments; send what is nested as a text.`;
  return "The arguments are no JSON object, or they were cut off. Repeat the call with complete arguments; send long contents in smaller pieces.";
}

function isJsonObject(text: unknown): boolean {
  try {
    const value: unknown = JSON.parse(String(text));
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/**
 * The arguments as a guard is to see them: what the tool made of what the model said, as a copy.
 * @throws what `prepareArguments` throws.
 */
function preparedInput({ name, prepareArguments }: Tool, args: unknown): Record<string, unknown> {
  const input = deepCopy(args) as Record<string, unknown>;
  if (prepareArguments === undefined || MALFORMED_ARGUMENTS in input) return input;
  const prepared: unknown = prepareArguments(input);
  if (typeof prepared === "object" && prepared !== null && !Array.isArray(prepared))
    return prepared as Record<string, unknown>;
  throw new TypeError(`The tool ${name} made no object of the arguments.`);
}
