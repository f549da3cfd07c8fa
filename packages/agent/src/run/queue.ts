import type { CustomInput, QueuedInput, SendMessageOptions, StreamingBehavior } from "./prompt.ts";

/** A message of an extension that waits for the agent. */
export interface QueuedMessage {
  message: CustomInput;
  behavior: NonNullable<SendMessageOptions["deliverAs"]>;
  /** As the extension gave it; undefined keeps a run going and does not begin one. */
  triggerTurn?: boolean | undefined;
}

/** What waits for an agent that is at work. */
export type Queued = QueuedInput | QueuedMessage;

/** Each phase of a run, and what it takes: the oldest that the first test accepts, else the next test. */
const takes = {
  /** Before a request that is made anyway. */
  request: [isSteering],
  /** After an answer without calls: what the run goes on for at once. */
  answer: [(queued) => isSteering(queued) && keepsGoing(queued)],
  /** At the end of a run: what it goes on for. */
  end: [(queued) => isSteering(queued) && keepsGoing(queued), keepsGoing],
  /** Between runs: what a run begins with. */
  start: [begins],
  /** Between runs: messages that are only stored. */
  store: [(queued) => !begins(queued)],
  /** After an abort: every message is stored, whatever it waited for. */
  abort: [isMessage],
} satisfies Record<string, readonly ((queued: Queued) => boolean)[]>;

export type QueuePhase = keyof typeof takes;

/**
 * Texts of users and messages of extensions for an agent that is at work: steering ones go in before its next request,
 * follow-ups when it would stop. Owner of their order, and of the messages that go with the user's next prompt.
 */
export class InputQueue {
  #queued: Queued[] = [];
  #withPrompt: QueuedMessage[] = [];

  add(queued: Queued): void {
    this.#listOf(queued).push(queued);
  }

  /** Takes out what this phase is to have next; undefined where nothing waits for it. */
  next(phase: "store" | "abort" | "prompt"): QueuedMessage | undefined;
  next(phase: QueuePhase): Queued | undefined;
  next(phase: QueuePhase | "prompt"): Queued | undefined {
    if (phase === "prompt") return this.#withPrompt.shift();
    for (const isWanted of takes[phase]) {
      const at = this.#queued.findIndex(isWanted);
      if (at >= 0) return this.#queued.splice(at, 1)[0];
    }
    return undefined;
  }

  /** Puts what was taken and could not be stored in front again. */
  putBack(queued: Queued): void {
    this.#listOf(queued).unshift(queued);
  }

  /** Takes out the texts, oldest first. Messages stay: they are stored, whatever happens. */
  clear(): QueuedInput[] {
    const texts = this.#queued.filter((queued): queued is QueuedInput => !isMessage(queued));
    this.#queued = this.#queued.filter(isMessage);
    return texts;
  }

  /** What waits for the user's next prompt does not count. */
  get isEmpty(): boolean {
    return this.#queued.length === 0;
  }

  get hasMessages(): boolean {
    return this.#queued.some(isMessage);
  }

  /** What waits for the user's next prompt, then the other messages, oldest first. */
  get messages(): readonly CustomInput[] {
    return [...this.#withPrompt, ...this.#queued.filter(isMessage)].map(({ message }) => message);
  }

  /** Texts that wait, oldest first. */
  texts(wanted: StreamingBehavior): readonly QueuedInput[] {
    return this.#queued.filter(
      (queued): queued is QueuedInput => !isMessage(queued) && queued.behavior === wanted,
    );
  }

  #listOf({ behavior }: Queued): Queued[] {
    return behavior === "nextTurn" ? this.#withPrompt : this.#queued;
  }
}

/** True for a message of an extension, false for a text. */
export function isMessage<Input extends object>(
  input: Input,
): input is Extract<Input, { message: CustomInput }> {
  return "message" in input;
}

function isSteering({ behavior }: Queued): boolean {
  return behavior === "steer";
}

/** True for what a run goes on for. */
function keepsGoing(queued: Queued): boolean {
  return !isMessage(queued) || queued.triggerTurn !== false;
}

/** True for what a run begins for. */
function begins(queued: Queued): boolean {
  return !isMessage(queued) || queued.triggerTurn === true;
}
