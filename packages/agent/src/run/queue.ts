import type { QueuedInput } from "./prompt-input.ts";

/**
 * Texts for an agent that is at work: steering ones go in before its next request, follow-ups when it would stop.
 * One at a time, so that each gets its answer. Owner of their order.
 */
export class InputQueue {
  #inputs: QueuedInput[] = [];

  add(input: QueuedInput): void {
    this.#inputs.push(input);
  }

  /** The next text for an agent that goes on anyway. */
  takeSteering(): QueuedInput | undefined {
    return this.#takeAt(this.#inputs.findIndex(({ behavior }) => behavior === "steer"));
  }

  /** The next text for an agent that would stop. */
  take(): QueuedInput | undefined {
    return this.takeSteering() ?? this.takeOldest();
  }

  /** The text that has waited longest: what an agent that was not running begins with. */
  takeOldest(): QueuedInput | undefined {
    return this.#inputs.shift();
  }

  /** Puts back what was taken and could not be said. */
  putBack(input: QueuedInput): void {
    this.#inputs.unshift(input);
  }

  /** Empties the queue and tells what was in it, in order. */
  clear(): QueuedInput[] {
    return this.#inputs.splice(0);
  }

  get isEmpty(): boolean {
    return this.#inputs.length === 0;
  }

  get steering(): readonly QueuedInput[] {
    return this.#inputs.filter(({ behavior }) => behavior === "steer");
  }

  get followUps(): readonly QueuedInput[] {
    return this.#inputs.filter(({ behavior }) => behavior === "followUp");
  }

  #takeAt(index: number): QueuedInput | undefined {
    return index < 0 ? undefined : this.#inputs.splice(index, 1)[0];
  }
}
