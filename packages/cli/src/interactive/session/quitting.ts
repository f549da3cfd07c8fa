import type { Screen } from "../screen.ts";

/** Owner of the end: who asked for it, and that the terminal is given back whatever happens. */
export class Quitting {
  /** Aborted when the user quits, and when the process is asked to end. */
  readonly signal: AbortSignal;
  /** Resolves when the program is to end. */
  readonly asked: Promise<void>;
  readonly #own = new AbortController();

  constructor(outer: AbortSignal) {
    this.signal = AbortSignal.any([outer, this.#own.signal]);
    this.asked = new Promise((resolve) => {
      if (this.signal.aborted) resolve();
      this.signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  quit(): void {
    this.#own.abort();
  }

  /** Gives the terminal back also where the process ends by an error; the function it gives back lets go of that. */
  guard(screen: Screen): () => void {
    const restore = () => screen.stop();
    process.on("exit", restore);
    return () => process.removeListener("exit", restore);
  }
}
