import { AsyncLocalStorage } from "node:async_hooks";

/**
 * Knows what is called from within: by handlers and tools, for whom somebody (the agent, a reload) waits. If they waited
 * for that too, both would wait for ever.
 */
export class OwnWork {
  readonly #calls = new AsyncLocalStorage<{ hasEnded: boolean }>();

  /** Does what the agent waits for. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const call = { hasEnded: false };
    try {
      return await this.#calls.run(call, work);
    } finally {
      call.hasEnded = true;
    }
  }

  /** True for a caller whom the agent waits for. */
  get isInside(): boolean {
    return this.#calls.getStore()?.hasEnded === false;
  }

  /** The promise; but what stands in for it, for a caller whom the agent waits for and who goes on waiting. */
  async awaited<Result>(promise: Promise<Result>, instead: Result): Promise<Result> {
    const call = this.#calls.getStore();
    if (call === undefined) return promise;
    const turnedRound = new Promise<void>((resolve) => setImmediate(resolve));
    // Most handlers have gone on by then, and whoever has kept the promise gets what it promises.
    return Promise.race([promise, turnedRound.then(() => (call.hasEnded ? promise : instead))]);
  }
}
