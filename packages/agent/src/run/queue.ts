import type { CustomInput, QueuedInput, StreamingBehavior } from "./prompt.ts";

/** A message of an extension that waits for the agent. */
export interface QueuedMessage {
  message: CustomInput;
  behavior: StreamingBehavior;
  /** As the extension said; undefined keeps a run going and does not begin one. */
  triggerTurn: boolean | undefined;
}

/** What waits for an agent that is at work. */
export type Queued = QueuedInput | QueuedMessage;

/**
 * Texts of users and messages of extensions for an agent that is at work: steering ones go in before its next request,
 * follow-ups when it would stop. Owner of their order, and of what waits for the user's next prompt.
 */
export class InputQueue {
  #queued: Queued[] = [];
  #forNextPrompt: CustomInput[] = [];

  add(queued: Queued): void {
    this.#queued.push(queued);
  }

  /** The next for an agent that goes on anyway. */
  takeSteering(): Queued | undefined {
    return this.#take(({ behavior }) => behavior === "steer");
  }

  /** The next for an agent that would stop, and goes on for it. */
  take(): Queued | undefined {
    return this.takeUrgent() ?? this.#take(keepsGoing);
  }

  /** The next for an agent that would stop, unless it can wait for that. */
  takeUrgent(): Queued | undefined {
    return this.#take((queued) => queued.behavior === "steer" && keepsGoing(queued));
  }

  /** What has waited longest of all that an agent begins to work for. */
  takeOldest(): Queued | undefined {
    return this.#take(begins);
  }

  /** The next message that no agent begins to work for. */
  takeQuiet(): QueuedMessage | undefined {
    return this.#take((queued) => !begins(queued)) as QueuedMessage | undefined;
  }

  /** The next message, whatever it waits for. */
  takeMessage(): QueuedMessage | undefined {
    return this.#take(isMessage) as QueuedMessage | undefined;
  }

  /** Puts back what was taken and could not be said. */
  putBack(queued: Queued): void {
    this.#queued.unshift(queued);
  }

  /** Takes out the texts and tells them, in order. Messages stay: they are stored, whatever happens. */
  clear(): QueuedInput[] {
    const texts = this.#queued.filter((queued) => !isMessage(queued)) as QueuedInput[];
    this.#queued = this.#queued.filter(isMessage);
    return texts;
  }

  get isEmpty(): boolean {
    return this.#queued.length === 0;
  }

  get hasMessages(): boolean {
    return this.#queued.some(isMessage);
  }

  /** What waits for the user's next prompt, then the other messages, oldest first. */
  get messages(): readonly CustomInput[] {
    const queued = this.#queued.filter(isMessage).map(({ message }) => message);
    return [...this.#forNextPrompt, ...queued];
  }

  get steering(): readonly QueuedInput[] {
    return this.#texts("steer");
  }

  get followUps(): readonly QueuedInput[] {
    return this.#texts("followUp");
  }

  /** A message that goes with the user's next prompt. */
  addForNextPrompt(message: CustomInput): void {
    this.#forNextPrompt.push(message);
  }

  /** The next one; what could not be said is to be put back with `putBackForNextPrompt`. */
  takeForNextPrompt(): CustomInput | undefined {
    return this.#forNextPrompt.shift();
  }

  putBackForNextPrompt(message: CustomInput): void {
    this.#forNextPrompt.unshift(message);
  }

  #texts(wanted: StreamingBehavior): QueuedInput[] {
    return this.#queued.filter(
      (queued): queued is QueuedInput => !isMessage(queued) && queued.behavior === wanted,
    );
  }

  #take(isWanted: (queued: Queued) => boolean): Queued | undefined {
    const at = this.#queued.findIndex(isWanted);
    return at < 0 ? undefined : this.#queued.splice(at, 1)[0];
  }
}

export function isMessage(queued: Queued): queued is QueuedMessage {
  return "message" in queued;
}

/** True for what a run goes on for. */
function keepsGoing(queued: Queued): boolean {
  return !isMessage(queued) || queued.triggerTurn !== false;
}

/** True for what a run begins for. */
function begins(queued: Queued): boolean {
  return !isMessage(queued) || queued.triggerTurn === true;
}
