import type { ImageContent } from "@bonsai-agent/messages";
import type { StreamingBehavior } from "./run-events.ts";

/** A text that waits for the agent. */
export interface QueuedInput {
  text: string;
  images?: readonly ImageContent[] | undefined;
}

/**
 * Texts for an agent that is at work: steering ones go in before its next request, follow-ups when it would stop.
 * One at a time, so that each gets its answer.
 */
export class InputQueue {
  #steering: QueuedInput[] = [];
  #followUps: QueuedInput[] = [];

  add(input: QueuedInput, behavior: StreamingBehavior): void {
    if (behavior === "steer") this.#steering.push(input);
    else this.#followUps.push(input);
  }

  /** The next text for an agent that goes on anyway. */
  takeSteering(): QueuedInput | undefined {
    return this.#steering.shift();
  }

  /** The next text for an agent that would stop. */
  take(): QueuedInput | undefined {
    return this.#steering.shift() ?? this.#followUps.shift();
  }

  /** Empties the queue and tells what was in it, in order. */
  clear(): { steering: QueuedInput[]; followUps: QueuedInput[] } {
    const cleared = { steering: this.#steering, followUps: this.#followUps };
    this.#steering = [];
    this.#followUps = [];
    return cleared;
  }

  get steering(): readonly QueuedInput[] {
    return this.#steering;
  }

  get followUps(): readonly QueuedInput[] {
    return this.#followUps;
  }
}
