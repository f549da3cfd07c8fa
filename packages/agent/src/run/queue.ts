import { BonsaiError, type ImageContent, type Message, type UserMessage } from "@bonsai-agent/messages";
import { isProgramText } from "@bonsai-agent/messages/host";
import { messageSchema } from "@bonsai-agent/messages/schemas";
import type { CustomInput, PromptInput, RunResult, StreamingBehavior } from "../events.ts";
import type { AgentEvents } from "../lifecycle.ts";
import { messageOf } from "../notice.ts";

/** Each waiting text gets its own answer, or all get one. */
export type QueueDelivery = "one-at-a-time" | "all";

/** The expanded form of a text that calls a template or a skill. */
export interface Expansion {
  /** Replaces the text. */
  text: string;
  /** The user's own words, without the files that were read for them, if the message does not contain them. */
  typed?: string | undefined;
  /** Sent in addition to the images of the text. */
  images?: readonly ImageContent[] | undefined;
}

/**
 * Expands a text after the handlers of `input`. Returns undefined for a text that calls nothing. An error
 * ends the run and returns the text as `unsent`.
 */
export type ExpandInput = (input: Pick<PromptInput, "text" | "images">) => Promise<Expansion | undefined>;

/** A text to send, with the typed words if they differ. */
export interface SaidInput extends PromptInput {
  typed?: string | undefined;
}

/** A text that waits for the agent. */
export interface QueuedInput extends PromptInput {
  /** When it is delivered. */
  behavior: StreamingBehavior;
}

/** Delivery of an extension's message. */
export interface SendMessageOptions {
  /**
   * True: an idle agent starts a run. False: the message does not prolong a run. Default: false for an idle
   * agent, true during a run.
   */
  triggerTurn?: boolean | undefined;
  /**
   * During a run: "steer" before its next request (the default), "followUp" when it would end. At any time: "nextTurn"
   * with the user's next prompt.
   */
  deliverAs?: "steer" | "followUp" | "nextTurn" | undefined;
}

/**
 * Returns a copy of the message as it would be read back: it may wait, and the sender may change the object.
 * @throws BonsaiError `custom_message_invalid`.
 */
export function checkedMessage(message: CustomInput): CustomInput {
  const { customType, content, display, details } = (message ?? {}) as Partial<CustomInput>;
  const given = { customType, content, display, ...(details === undefined ? {} : { details }) };
  const copy = readBack(given);
  const checked = messageSchema.safeParse({ role: "custom", timestamp: 0, ...copy });
  if (checked.success) return copy;
  const { path = [], message: problem = "" } = checked.error.issues[0] ?? {};
  throw invalid(`${path.join(".") || "it"}: ${problem}`);
}

function readBack(given: object): CustomInput {
  try {
    return JSON.parse(JSON.stringify(given)) as CustomInput;
  } catch (cause) {
    throw invalid(cause instanceof RangeError ? "it is nested too deeply" : messageOf(cause), cause);
  }
}

function invalid(problem: string, cause?: unknown): BonsaiError {
  return new BonsaiError({
    code: "custom_message_invalid",
    message: `Cannot store a message from an extension: ${problem}`,
    hint: "Send {customType, content, display, details?}. content must be a text or a list of text and image blocks. All fields must be plain JSON values.",
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Makes a message of a user's text. */
export function userMessage(
  { text, images = [], source, typed }: Pick<SaidInput, "text" | "images" | "source" | "typed">,
  timestamp: number,
): UserMessage {
  // A user may type a text that reads like a program's: then the message names its author.
  if (typed === undefined && source !== "extension" && isProgramText(text))
    return userMessage({ text, images, source, typed: text }, timestamp);
  const content = images.length === 0 ? text : [{ type: "text" as const, text }, ...images];
  return { role: "user", content, ...(typed !== undefined && { typed }), timestamp };
}

/** Passes a text through the handlers of `input` and expands it. Returns undefined if a handler took it. */
export async function preparedInput(
  { events, expandInput }: { events: AgentEvents; expandInput?: ExpandInput | undefined },
  input: PromptInput | QueuedInput,
  signal: AbortSignal,
): Promise<SaidInput | undefined> {
  const asked = await askInputHandlers(events, input, signal);
  if (asked === undefined || signal.aborted) return asked;
  const { source, isExpanded = source !== "extension" } = input;
  const expansion = isExpanded ? await expandInput?.(asked) : undefined;
  if (expansion === undefined) return asked;
  const { text, typed } = expansion;
  const images = [...(asked.images ?? []), ...(expansion.images ?? [])];
  return { ...asked, text, typed, images: images.length === 0 ? undefined : images };
}

/** Returns the text as changed by extensions; undefined if one handled it. */
async function askInputHandlers<Input extends PromptInput | QueuedInput>(
  events: AgentEvents,
  input: Input,
  signal: AbortSignal,
): Promise<Input | undefined> {
  if (!events.hasHandlers("input")) return input;
  const { text, images, source } = input;
  const event = {
    type: "input" as const,
    text,
    source,
    ...(images === undefined ? {} : { images: [...images] }),
    ...("behavior" in input ? { streamingBehavior: input.behavior } : {}),
  };
  const { result, payload } = await events.decide("input", event, { signal });
  if (signal.aborted) return input;
  return result?.action === "handled" ? undefined : { ...input, text: payload.text, images: payload.images };
}

/** Works after each run, such as on titles. */
export interface RunFollower {
  /** Called after `agent_end`. Returns at once, and never throws. */
  runEnded(run: { result: RunResult; messages: () => readonly Message[] }): void;
  /** Ends its work; called before the session is closed. Never rejects. */
  close(): Promise<void>;
}

/**
 * Asks the user whether a long run may continue; true allows the same number of requests again. `requests` counts from the
 * user's latest message or confirmation. `signal` is aborted when the user stops the work.
 */
export type ConfirmMoreRequests = (run: { requests: number; signal: AbortSignal }) => Promise<boolean>;

/** A message of an extension that waits for the agent. */
export interface QueuedMessage {
  message: CustomInput;
  behavior: NonNullable<SendMessageOptions["deliverAs"]>;
  /** Undefined prolongs a run and does not start one. */
  triggerTurn?: boolean | undefined;
}

export type Queued = QueuedInput | QueuedMessage;

const isSteering = ({ behavior }: Queued) => behavior === "steer";
const keepsGoing = (queued: Queued) => !isMessage(queued) || queued.triggerTurn !== false;
const begins = (queued: Queued) => !isMessage(queued) || queued.triggerTurn === true;

/** Tests of each phase of a run. It takes the oldest text or message that the first test accepts, else the next test. */
const acceptedByPhase = {
  /** Before a request. */
  request: [isSteering],
  /** After an answer without calls. */
  answer: [(queued) => isSteering(queued) && keepsGoing(queued)],
  /** At the end of a run. */
  end: [(queued) => isSteering(queued) && keepsGoing(queued), keepsGoing],
  /** Between runs: starts the next run. */
  start: [begins],
  /** Between runs: only stored. */
  store: [(queued) => !begins(queued)],
  /** After an abort: stores every message. */
  abort: [isMessage],
} satisfies Record<string, readonly ((queued: Queued) => boolean)[]>;

export type QueuePhase = keyof typeof acceptedByPhase;

/** Waiting texts and messages, in order. Steering ones go into the next request, follow-ups to the end of the run. */
export class InputQueue {
  #queued: Queued[] = [];
  #withPrompt: QueuedMessage[] = [];
  readonly delivery: Record<StreamingBehavior, QueueDelivery> = {
    steer: "one-at-a-time",
    followUp: "one-at-a-time",
  };

  add(queued: Queued): void {
    this.#listOf(queued).push(queued);
  }

  /** Removes and returns the next text or message of this phase. */
  next(phase: "store" | "abort" | "prompt"): QueuedMessage | undefined;
  next(phase: QueuePhase): Queued | undefined;
  next(phase: QueuePhase | "prompt"): Queued | undefined {
    if (phase === "prompt") return this.#withPrompt.shift();
    for (const isWanted of acceptedByPhase[phase]) {
      const at = this.#queued.findIndex(isWanted);
      if (at >= 0) return this.#queued.splice(at, 1)[0];
    }
    return undefined;
  }

  /** Puts back an item that could not be stored, at the front. */
  putBack(queued: Queued): void {
    this.#listOf(queued).unshift(queued);
  }

  /** Removes and returns the texts, oldest first. Messages stay: they are always stored. */
  clear(): QueuedInput[] {
    const texts = this.#queued.filter((queued): queued is QueuedInput => !isMessage(queued));
    this.#queued = this.#queued.filter(isMessage);
    return texts;
  }

  /** Ignores messages that wait for the user's next prompt. */
  get isEmpty(): boolean {
    return this.#queued.length === 0;
  }

  get hasMessages(): boolean {
    return this.#queued.some(isMessage);
  }

  /** Messages for the user's next prompt, then the others, oldest first. */
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
