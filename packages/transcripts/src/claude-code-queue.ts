import { contentText } from "@bonsai-agent/messages";
import { messageBlocks } from "./claude-code-records.ts";
import { type Fields, fieldsAt, isFields, stringAt } from "./fields.ts";
import type { JsonLine } from "./json-lines.ts";

/** A message that was typed while the agent worked. */
export interface QueuedMessage {
  /** Text, or blocks. */
  content: unknown;
  words: string;
  /** Where it was typed. */
  line: number;
  /** Where it left the queue; where it was typed, as long as it has not. */
  endLine: number;
  /** The record that says so. */
  record: Fields;
}

export interface QueueEnd {
  /** What was handed to the model within its turn, in that order, and stands in no other record. */
  delivered: QueuedMessage[];
  /** What was still waiting at the end. */
  left: QueuedMessage[];
}

/** The reason of a removal that says what a removal without one meant before there were reasons. */
const DELIVERED = "absorbed_mid_turn";

/**
 * What a user types while the agent works stands in records of the queue: `remove` hands it to the running
 * turn, `dequeue` makes it a user record of its own, `popAll` puts it back into the editor.
 */
export function replayQueue(lane: readonly JsonLine[]): QueueEnd {
  const queues = new Map<string, Queue>();
  const removed: QueuedMessage[] = [];
  for (const { line, value } of lane) {
    const session = stringAt(value, "sessionId") ?? "";
    const queue = queues.get(session) ?? new Queue();
    queues.set(session, queue);
    if (value.type === "queue-operation") {
      const message = queue.apply(value, line);
      if (message !== undefined) removed.push(message);
    } else if (isPrompt(value)) queue.prompted(wordsOf(fieldsAt(value, "message")?.content));
  }
  return {
    delivered: withoutCarried(removed, lane),
    left: [...queues.values()].flatMap((queue) => queue.waiting()).filter(saysSomething),
  };
}

/** True for a user record that is more than results: a turn begins with it. */
export function isPrompt(record: Fields): boolean {
  if (record.type !== "user" || record.isCompactSummary === true) return false;
  return !messageBlocks(record).some((block) => block.type === "tool_result");
}

/** The queue of one session, first in, first out. */
class Queue {
  readonly #messages = new Set<QueuedMessage>();
  readonly #byWords = new Map<string, Set<QueuedMessage>>();
  /** Taken out to become prompts, until those come. */
  #dequeued: QueuedMessage[] = [];
  /** Taken out without being named: the prompt that follows tells which. */
  #unnamed = 0;

  /** Returns the message that an operation handed to the model. */
  apply(record: Fields, line: number): QueuedMessage | undefined {
    const { operation, content } = record;
    const message = { content, words: wordsOf(content), line, endLine: line, record };
    if (operation === "enqueue") this.#add(message);
    else if (operation === "dequeue" && content === undefined) this.#unnamed += 1;
    else if (operation === "dequeue") this.#dequeue(this.#first(message.words));
    else if (operation === "remove") {
      this.#settle();
      const queued = content === undefined ? this.#next() : this.#first(message.words);
      if (queued !== undefined) this.#delete(queued);
      if ((record.reason ?? DELIVERED) !== DELIVERED) return undefined;
      return queued === undefined ? message : { ...queued, endLine: line, record };
    } else this.#clear();
    return undefined;
  }

  /** A prompt is what was taken out last; older versions do not say that they took it out. */
  prompted(words: string): void {
    const isExpected = this.#dequeued.some((message) => message.words === words);
    const same = isExpected ? undefined : this.#first(words);
    if (same !== undefined) this.#delete(same);
    if (same !== undefined && this.#unnamed > 0) this.#unnamed -= 1;
    this.#settle();
    this.#dequeued = [];
  }

  waiting(): QueuedMessage[] {
    this.#settle();
    return [...this.#dequeued, ...this.#messages];
  }

  #settle(): void {
    for (; this.#unnamed > 0; this.#unnamed -= 1) this.#dequeue(this.#next());
  }

  #dequeue(message: QueuedMessage | undefined): void {
    if (message === undefined) return;
    this.#delete(message);
    this.#dequeued.push(message);
  }

  #next(): QueuedMessage | undefined {
    return this.#messages.values().next().value;
  }

  #first(words: string): QueuedMessage | undefined {
    return this.#byWords.get(words)?.values().next().value;
  }

  #add(message: QueuedMessage): void {
    this.#messages.add(message);
    const same = this.#byWords.get(message.words);
    if (same === undefined) this.#byWords.set(message.words, new Set([message]));
    else same.add(message);
  }

  #delete(message: QueuedMessage): void {
    this.#messages.delete(message);
    this.#byWords.get(message.words)?.delete(message);
  }

  #clear(): void {
    this.#messages.clear();
    this.#byWords.clear();
    this.#unnamed = 0;
  }
}

/**
 * Leaves out what another record carries too: later versions add an attachment with the same words, others
 * write the words beside the results that they came with.
 */
function withoutCarried(removed: readonly QueuedMessage[], lane: readonly JsonLine[]): QueuedMessage[] {
  const carriers = new Map<string, number[]>();
  for (const { line, value } of lane) {
    const words = carriedWords(value);
    if (words === undefined) continue;
    const lines = carriers.get(words);
    if (lines === undefined) carriers.set(words, [line]);
    else lines.push(line);
  }
  const carried = new Set<QueuedMessage>();
  for (const [words, messages] of Map.groupBy(removed, (message) => message.words))
    for (const message of nearest(messages, carriers.get(words) ?? [])) carried.add(message);
  return removed.filter((message) => !carried.has(message) && saysSomething(message));
}

/** For each carrier the message that left the queue nearest to it; none is carried before it was typed. */
function nearest(messages: readonly QueuedMessage[], carriers: readonly number[]): QueuedMessage[] {
  const found: QueuedMessage[] = [];
  let at = 0;
  for (const [index, line] of carriers.entries()) {
    const distance = (place: number) => Math.abs(messages[place]!.endLine - line);
    const enough = messages.length - (carriers.length - index - 1);
    while (at + 1 < enough && distance(at + 1) < distance(at)) at += 1;
    const message = messages[at];
    if (message === undefined || line < message.line) continue;
    found.push(message);
    at += 1;
  }
  return found;
}

/** The words of a record that can be what a queued message became within the turn. */
function carriedWords(record: Fields): string | undefined {
  const attachment = fieldsAt(record, "attachment");
  if (attachment?.type === "queued_command") return wordsOf(attachment.prompt);
  if (record.type !== "user" || isPrompt(record)) return undefined;
  return wordsOf(messageBlocks(record).filter((block) => block.type !== "tool_result"));
}

/** One without content is known from its attachment alone. */
function saysSomething({ words }: QueuedMessage): boolean {
  return words !== "";
}

/** Text without differences of white space; what is no text counts by its type. */
function wordsOf(content: unknown): string {
  if (typeof content === "string") return content.replace(/\s+/g, " ").trim();
  if (!Array.isArray(content)) return "";
  const others = content.filter((block) => isFields(block) && block.type !== "text");
  const marks = others.map((block) => `[${stringAt(block, "type")}]`);
  return [contentText(content.filter(isFields)), ...marks].join(" ").replace(/\s+/g, " ").trim();
}
