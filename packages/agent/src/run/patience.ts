/** How long handlers and tools have to end once the work was stopped. */
const GRACE_MS = 5_000;

/**
 * Owner of the signal that says when nobody waits any longer: never while the agent works, a while after it was
 * stopped. Whoever hangs then cannot keep the agent busy.
 */
export class Patience {
  #lost = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  /** Aborted when handlers and tools are waited for no longer. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** The work was stopped: a little time is left. */
  wane(): void {
    clearTimeout(this.#timer);
    const lost = this.#lost;
    this.#timer = setTimeout(() => lost.abort(new Error("It did not end in time after the stop.")), GRACE_MS);
  }

  /** Nobody waits any longer for what is being told while nothing goes on. */
  leave(): void {
    this.#lost.abort(new Error("The user waits no longer."));
    this.renew();
  }

  /** One more thing must be told: where no time was left, there is a little anew. */
  extend(): void {
    if (!this.#lost.signal.aborted) return;
    this.renew();
    this.wane();
  }

  /** Something new begins. */
  renew(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lost.signal.aborted) this.#lost = new AbortController();
  }
}
