import type { Screen } from "../screen.ts";
import { decodeKittyPrintable, getKeybindings } from "../terminal/tui.ts";

/** Who has pressed no letter for so long reads what comes. */
const restMs = 600;
/** Somebody waits for the answer: longer, a question is not held back. */
const mostMs = 3_000;

/** Owner of when a question that comes by itself may take the keys: not in the middle of a word. */
export class TypingRest {
  #latestMs = Number.NEGATIVE_INFINITY;

  constructor({ tui }: Pick<Screen, "tui">) {
    tui.addInputListener((data) => {
      if (isTypedText(data)) this.#latestMs = performance.now();
      else if (getKeybindings().matches(data, "tui.input.submit")) this.#latestMs = Number.NEGATIVE_INFINITY;
      return undefined;
    });
  }

  /** Resolves once the user rests, at once where nothing is being typed. @param signal ends the waiting */
  async reached(signal: AbortSignal): Promise<void> {
    const begunMs = performance.now();
    while (!signal.aborted) {
      const now = performance.now();
      const leftMs = Math.min(this.#latestMs + restMs - now, begunMs + mostMs - now);
      if (leftMs <= 0) return;
      await new Promise((resolve) => setTimeout(resolve, Math.min(leftMs, 50)));
    }
  }
}

/** True for a key that writes, and for a paste. */
export function isTypedText(data: string): boolean {
  return (
    data.startsWith("\u001b[200~") || decodeKittyPrintable(data) !== undefined || /^[^\p{Cc}]+$/u.test(data)
  );
}
