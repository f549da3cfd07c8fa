/** How long a call may still take. It stands until it is first started. */
export class CallClock {
  readonly #limitMs: number;
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** Aborted when the time is over. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The whole time begins anew. */
  restart(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => this.#controller.abort(new Error("The call reached its time limit.")),
      this.#limitMs,
    );
  }

  pause(): void {
    clearTimeout(this.#timer);
  }
}
