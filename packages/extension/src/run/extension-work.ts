import { AsyncLocalStorage } from "node:async_hooks";
import { readableError } from "../load/readable-error.ts";
import type { ExtensionScope } from "./scope.ts";

/** Knows whose code runs, also in timers and in promises that nobody waits for. */
const atWork = new AsyncLocalStorage<ExtensionScope>();

/** Runs code of an extension. What it throws, or rejects with, comes out as an error that can be read. */
export function runOf<Result>(scope: ExtensionScope, work: () => Result): Result {
  try {
    const returned = atWork.run(scope, work);
    if (!isThenable(returned)) return returned;
    const settled = Promise.resolve(returned).catch((error: unknown) => {
      throw readableError(error);
    });
    return settled as Result;
  } catch (error) {
    throw readableError(error);
  }
}

/** The extension whose code runs now, or began what runs now. */
export function extensionAtWork(): ExtensionScope | undefined {
  return atWork.getStore();
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined)?.then === "function";
}
