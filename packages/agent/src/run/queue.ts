import {
  type AssistantMessage,
  BonsaiError,
  type ImageContent,
  isProgramText,
  type Message,
  type UserContent,
  type UserMessage,
} from "@bonsai-agent/messages";
import { messageSchema } from "@bonsai-agent/messages/schemas";
import { messageOf } from "../notice.ts";

/** Origin of a text. */
export type InputSource = "interactive" | "rpc" | "print" | "extension";

/** How a text reaches an agent that is at work. */
export type StreamingBehavior = "steer" | "followUp";

/** Each waiting text gets its own answer, or all get one. */
export type QueueDelivery = "one-at-a-time" | "all";

/** A text for the agent. */
export interface PromptInput {
  /** As it was typed. */
  text: string;
  /** Sent with the text. */
  images?: readonly ImageContent[] | undefined;
  /** Handlers of `input` see it. */
  source: InputSource;
  /** A command in it, as of a template, is expanded before it is sent. Default: not for what extensions say. */
  isExpanded?: boolean | undefined;
}

/** The expanded form of a text that calls a template or a skill. */
export interface Expansion {
  /** Sent in its place. */
  text: string;
  /** The user's own words, without the files that were read for them, if the message does not contain them. */
  typed?: string | undefined;
  /** Sent with it, beside those that came with the text. */
  images?: readonly ImageContent[] | undefined;
}

/**
 * Expands a text before it is sent, behind the handlers of `input`; undefined for one that calls nothing. What it throws
 * ends the run, and the text goes back to whoever gave it.
 */
export type ExpandInput = (input: Pick<PromptInput, "text" | "images">) => Promise<Expansion | undefined>;

/** A text as it is sent, with what was typed where that is another. */
export interface SaidInput extends PromptInput {
  typed?: string | undefined;
}

/** A text that waits for the agent. */
export interface QueuedInput extends PromptInput {
  /** When it is delivered. */
  behavior: StreamingBehavior;
}

/** A message that an extension puts into the conversation: stored, and seen by the model as the user's. */
export interface CustomInput {
  /** Which kind of the extension's messages it is. */
  customType: string;
  /** Shown to the model. */
  content: string | UserContent[];
  /** False: front ends do not show it. */
  display: boolean;
  /** For the extension; stored, never sent. */
  details?: unknown;
}

/** When a message of an extension is delivered, and what for. */
export interface SendMessageOptions {
  /**
   * True: an idle agent begins to work. False: a run that would end is not kept going by it. Default: false for an idle
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
 * The message as it would be read back, a copy: it may wait, and whoever sent it may go on with the object.
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
    if (cause instanceof RangeError) throw invalid("it is nested too deeply", cause);
    throw invalid(messageOf(cause), cause);
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
  // A person may type what reads like a program's text: then the message says who wrote it.
  if (typed === undefined && source !== "extension" && isProgramText(text))
    return userMessage({ text, images, source, typed: text }, timestamp);
  const content = images.length === 0 ? text : [{ type: "text" as const, text }, ...images];
  return { role: "user", content, ...(typed !== undefined && { typed }), timestamp };
}

/** How a run ended. */
export interface RunResult {
  /**
   * `handled`: an extension took the text, nothing was sent. `paused`: a compaction under the setting
   * `afterThreshold: "wait"`; the next prompt goes on. `queued`: the text waits, and so would whoever gave it: the
   * agent waits for that handler or tool.
   */
  status: "done" | "aborted" | "failed" | "handled" | "paused" | "queued";
  /** The last answer of the run, if there was one. */
  answer?: AssistantMessage | undefined;
  /** With the status `failed`. */
  error?: BonsaiError | undefined;
  /** Texts that were given to the agent and neither said nor stored, oldest first; absent where there are none. */
  unsent?: readonly PromptInput[] | undefined;
}

/** Works after each run: titles, the blurb for the session list. */
export interface RunFollower {
  /** Called after `agent_end`. Returns at once, and never throws. */
  runEnded(run: { result: RunResult; messages: () => readonly Message[] }): void;
  /** Ends what is under way; called before the session is closed. Never rejects. */
  close(): Promise<void>;
}

/** A run that has made many requests since the user last said something. */
interface LongRun {
  /** Since then, or since the user last let it go on. */
  requests: number;
  /** Aborted when the user stops the work. */
  signal: AbortSignal;
}

/** Asks the user whether the run may go on; true lets it make as many requests again. */
export type ConfirmMoreRequests = (run: LongRun) => Promise<boolean>;

/** A message of an extension that waits for the agent. */
export interface QueuedMessage {
  message: CustomInput;
  behavior: NonNullable<SendMessageOptions["deliverAs"]>;
  /** As the extension gave it; undefined keeps a run going and does not begin one. */
  triggerTurn?: boolean | undefined;
}

export type Queued = QueuedInput | QueuedMessage;

/** Each phase of a run, and what it takes: the oldest that the first test accepts, else the next test. */
const acceptedByPhase = {
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

export type QueuePhase = keyof typeof acceptedByPhase;

/**
 * Texts of users and messages of extensions for an agent that is at work: steering ones go in before its next request,
 * follow-ups when it would stop. Owner of their order, and of the messages that go with the user's next prompt.
 */
export class InputQueue {
  #queued: Queued[] = [];
  #withPrompt: QueuedMessage[] = [];
  /** How many of the texts that wait are delivered together. */
  readonly delivery: Record<StreamingBehavior, QueueDelivery> = {
    steer: "one-at-a-time",
    followUp: "one-at-a-time",
  };

  add(queued: Queued): void {
    this.#listOf(queued).push(queued);
  }

  /** Takes out what this phase is to have next; undefined where nothing waits for it. */
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
