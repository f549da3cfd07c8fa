/** Upper bound for the total time of a call; a longer `timeout` raises it. */
const MAX_TOTAL_MS = 3_600_000;
/** Total time of a call, in silence limits. */
const TOTAL_FACTOR = 10;

/**
 * Ends a call that hangs or drips. Progress restarts the limit for silence, but not the limit for the whole call.
 * Both clocks stop while the user answers a question of the server.
 */
export class CallClock {
  readonly #silenceMs: number;
  readonly #totalMs: number;
  readonly #controller = new AbortController();
  #leftMs: number;
  #startedMs: number | undefined;
  #silence: NodeJS.Timeout | undefined;
  #total: NodeJS.Timeout | undefined;

  constructor(silenceMs: number) {
    this.#silenceMs = silenceMs;
    this.#totalMs = Math.max(silenceMs, Math.min(TOTAL_FACTOR * silenceMs, MAX_TOTAL_MS));
    this.#leftMs = this.#totalMs;
  }

  /** Aborted when a limit is reached. Its reason is an Error with the limit in words. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Starts or resumes the call. */
  start(): void {
    this.stop();
    this.#startedMs = performance.now();
    this.#total = setTimeout(() => this.#end("finish", this.#totalMs), this.#leftMs);
    this.restartSilence();
  }

  /** The server is alive. */
  restartSilence(): void {
    if (this.#startedMs === undefined) return;
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#end("answer", this.#silenceMs), this.#silenceMs);
  }

  /** Ends or pauses the call. */
  stop(): void {
    clearTimeout(this.#silence);
    clearTimeout(this.#total);
    if (this.#startedMs !== undefined) this.#leftMs -= performance.now() - this.#startedMs;
    this.#startedMs = undefined;
  }

  #end(verb: "answer" | "finish", limitMs: number): void {
    this.#controller.abort(new Error(`did not ${verb} within ${limitMs / 1_000} s`));
  }
}
