import type { Screen } from "../screen.ts";
import { decodeKittyPrintable, getKeybindings } from "../terminal/tui.ts";

/** Who has pressed no letter for so long reads what comes. */
const restMs = 600;
/** Somebody waits for the answer: longer, a question is not held back. */
const mostMs = 3_000;

/** Owner of when a question that comes by itself may take the keys: not in the middle of a word. */
export class TypingRest {
  #restsAtMs = Number.NEGATIVE_INFINITY;
  /** Each looks anew at how long it has to wait. */
  readonly #waiting = new Set<() => void>();

  constructor({ tui }: Pick<Screen, "tui">) {
    tui.addInputListener((data) => {
      if (isTypedText(data)) this.#restsAt(performance.now() + restMs);
      else if (getKeybindings().matches(data, "tui.input.submit")) this.#restsAt(Number.NEGATIVE_INFINITY);
      return undefined;
    });
  }

  /** Resolves once the user rests, at once where nothing is being typed. @param signal ends the waiting */
  async reached(signal: AbortSignal): Promise<void> {
    const latestMs = performance.now() + mostMs;
    const { promise, resolve } = Promise.withResolvers<void>();
    let timer: NodeJS.Timeout | undefined;
    const look = () => {
      clearTimeout(timer);
      const leftMs = Math.min(this.#restsAtMs, latestMs) - performance.now();
      if (leftMs <= 0 || signal.aborted) resolve();
      else timer = setTimeout(look, leftMs);
    };
    signal.addEventListener("abort", look, { once: true });
    this.#waiting.add(look);
    look();
    await promise;
    this.#waiting.delete(look);
    signal.removeEventListener("abort", look);
  }

  #restsAt(ms: number): void {
    this.#restsAtMs = ms;
    for (const look of this.#waiting) look();
  }
}

/** True for a key that writes, and for a paste. */
export function isTypedText(data: string): boolean {
  return (
    data.startsWith("\u001b[200~") || decodeKittyPrintable(data) !== undefined || /^[^\p{Cc}]+$/u.test(data)
  );
}
