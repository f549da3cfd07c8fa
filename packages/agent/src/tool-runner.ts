import type { ToolCall, ToolResultMessage } from "@bonsai-agent/messages";
import { errorResult, runCall } from "./tool-call.ts";
import type { Workplace } from "./workplace.ts";

export interface ToolBatchOptions {
  work: Workplace;
  calls: readonly ToolCall[];
  signal: AbortSignal;
  /** Called in the order of the calls, each as soon as it and those before it have ended. */
  onResult: (result: ToolResultMessage) => Promise<void>;
}

/**
 * Runs the calls of one answer: side by side, except for tools that want to be alone. Every call gets exactly one
 * result, also after an abort.
 */
export async function runToolBatch(options: ToolBatchOptions): Promise<void> {
  const ended = new Map<number, ToolResultMessage>();
  let next = 0;
  let delivering = Promise.resolve();
  const deliver = async () => {
    for (let result = ended.get(next); result !== undefined; result = ended.get(next)) {
      next += 1;
      await options.onResult(result);
    }
  };
  const end = (index: number, result: ToolResultMessage) => {
    ended.set(index, result);
    delivering = delivering.then(deliver);
    return delivering;
  };
  for (const group of groups(options)) {
    await Promise.all(group.map(async (index) => end(index, await resultOf(options, options.calls[index]!))));
  }
}

/** Indices of calls that run together. */
function groups({ work, calls }: ToolBatchOptions): number[][] {
  const found: number[][] = [];
  let isOpen = false;
  for (const [index, call] of calls.entries()) {
    const isAlone = work.tools.get(call.name)?.executionMode === "sequential";
    if (isOpen && !isAlone) found.at(-1)!.push(index);
    else found.push([index]);
    isOpen = !isAlone;
  }
  return found;
}

function resultOf({ work, signal }: ToolBatchOptions, call: ToolCall): Promise<ToolResultMessage> {
  if (signal.aborted)
    return Promise.resolve(errorResult(call, "Not run: the user stopped the work.", work.now()));
  return runCall({ work, call, signal });
}
