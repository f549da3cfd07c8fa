import type { ToolCall, ToolResultMessage } from "@bonsai-agent/messages";
import { withLinkedSignal } from "./run/linked-signal.ts";
import { type EndedCall, runCall } from "./tool-call.ts";
import { errorResult } from "./tool-result.ts";
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

async function endOf({ work, signal }: ToolBatchOptions, call: ToolCall): Promise<EndedCall> {
  if (signal.aborted) {
    const message = errorResult(call, "Not run: the user stopped the work.", work.now());
    return { message, terminate: false };
  }
  return runCall({ work, call, signal });
}
