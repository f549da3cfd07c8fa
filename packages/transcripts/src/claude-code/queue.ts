import { contentText, isRecord } from "@bonsai-agent/messages";
import { type Fields, fieldsAt, isoTime, type JsonLine, stringAt } from "../import/json-lines.ts";
import type { UuidNode } from "../import/uuid-tree.ts";
import { messageBlocks } from "./records.ts";

/** A message that the user typed while the agent worked. */
export interface QueuedMessage {
  /** Text or blocks. */
  content: unknown;
  words: string;
  /** The line of its typing. */
  line: number;
  /** The line of its delivery; before that, the line of its typing. */
  endLine: number;
  /** The record of its delivery, or of its typing. */
  record: Fields;
}

interface QueueEnd {
  /** The messages that the model got within a turn and that no other record has, in that order. */
  delivered: QueuedMessage[];
  /** The messages that still waited at the end. */
  left: QueuedMessage[];
}

/** The reason of a delivery. Records of older versions have none. */
const DELIVERED = "absorbed_mid_turn";

/**
 * Reads the records of the queue: `remove` delivers a message within a turn, `dequeue` makes it a user record of its own,
 * `popAll` puts all back into the editor.
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
    } else if (isPrompt(value)) queue.take(wordsOf(fieldsAt(value, "message")?.content));
  }
  return {
    delivered: withoutCarried(removed, lane).filter(isNotEmpty),
    left: [...queues.values()].flatMap((queue) => queue.waiting()).filter(isNotEmpty),
  };
}

/** True for a user record that begins a turn: it is more than results. */
function isPrompt(record: Fields): boolean {
  if (record.type !== "user" || record.isCompactSummary === true) return false;
  return !messageBlocks(record).some((block) => block.type === "tool_result");
}

/** The queue of one session, first in, first out. */
class Queue {
  readonly #messages = new Set<QueuedMessage>();
  readonly #byWords = new Map<string, QueuedMessage[]>();

  /** Returns the message that an operation delivers to the model. */
  apply(record: Fields, line: number): QueuedMessage | undefined {
    const { operation, content } = record;
    const message = { content, words: wordsOf(content), line, endLine: line, record };
    if (operation === "enqueue") this.#add(message);
    else if (operation === "popAll") for (const each of this.#messages) this.take(each.words);
    else if (operation === "dequeue" && content !== undefined) this.take(message.words);
    // A dequeue without words is followed by the prompt that it made, which has the words.
    if (operation !== "remove") return undefined;
    const queued = this.take(content === undefined ? undefined : message.words);
    if ((record.reason ?? DELIVERED) !== DELIVERED) return undefined;
    return queued === undefined ? message : { ...queued, endLine: line, record };
  }

  /** Removes and returns the first message, or the first with these words. */
  take(words: string | undefined): QueuedMessage | undefined {
    const message =
      words === undefined ? this.#messages.values().next().value : this.#byWords.get(words)?.[0];
    if (message === undefined) return undefined;
    this.#messages.delete(message);
    this.#byWords.get(message.words)?.shift();
    return message;
  }

  waiting(): QueuedMessage[] {
    return [...this.#messages];
  }

  #add(message: QueuedMessage): void {
    this.#messages.add(message);
    const same = this.#byWords.get(message.words);
    if (same === undefined) this.#byWords.set(message.words, [message]);
    else same.push(message);
  }
}

/**
 * Drops messages that another record has too: later versions add an attachment with the same words, or write the words
 * beside results. If fewer records than messages have the words, the latest messages are dropped.
 */
function withoutCarried(removed: readonly QueuedMessage[], lane: readonly JsonLine[]): QueuedMessage[] {
  const carriers = new Map<string, number>();
  for (const { value } of lane) {
    const words = carriedWords(value);
    if (words !== undefined) carriers.set(words, (carriers.get(words) ?? 0) + 1);
  }
  return removed
    .toReversed()
    .filter(({ words }) => {
      const left = carriers.get(words) ?? 0;
      carriers.set(words, left - 1);
      return left <= 0;
    })
    .reverse();
}

/** The words of a record that can be a delivered message. */
function carriedWords(record: Fields): string | undefined {
  const attachment = fieldsAt(record, "attachment");
  if (attachment?.type === "queued_command") return wordsOf(attachment.prompt);
  if (record.type !== "user" || isPrompt(record)) return undefined;
  return wordsOf(messageBlocks(record).filter((block) => block.type !== "tool_result"));
}

/** An empty message is known from its attachment only. */
function isNotEmpty({ words }: QueuedMessage): boolean {
  return words !== "";
}

/** Text without differences of white space. Other blocks count by their type. */
function wordsOf(content: unknown): string {
  if (typeof content === "string") return content.replace(/\s+/g, " ").trim();
  if (!Array.isArray(content)) return "";
  const others = content.filter((block) => isRecord(block) && block.type !== "text");
  const marks = others.map((block) => `[${stringAt(block, "type")}]`);
  return [contentText(content.filter(isRecord)), ...marks].join(" ").replace(/\s+/g, " ").trim();
}

/**
 * Adds a user record for each delivered message after the last record before its delivery. The next record follows it, if
 * it followed that record; after a rewind the message is a branch of its own. Changes the parents of the given nodes.
 */
export function withDeliveries(nodes: readonly UuidNode[], delivered: readonly QueuedMessage[]): UuidNode[] {
  if (delivered.length === 0) return [...nodes];
  const records = nodes.toSorted((a, b) => a.line - b.line);
  const added = new Map<UuidNode | undefined, UuidNode[]>();
  let at = 0;
  for (const message of delivered) {
    while (at < records.length && records[at]!.line < message.endLine) at += 1;
    const [last, next] = [records[at - 1], records[at]];
    const siblings = added.get(last) ?? [];
    added.set(last, siblings);
    const parent = (siblings.at(-1) ?? last)?.uuid ?? null;
    const node = userNode(message, parent);
    siblings.push(node);
    if (next !== undefined && next.parent === parent) next.parent = node.uuid;
  }
  return [undefined, ...nodes].flatMap((node) => [
    ...(node === undefined ? [] : [node]),
    ...(added.get(node) ?? []),
  ]);
}

function userNode({ content, line, endLine, record }: QueuedMessage, parent: string | null): UuidNode {
  const uuid = `queued:${line}/${endLine}`;
  return {
    uuid,
    parent,
    line: endLine,
    record: {
      type: "user",
      uuid,
      timestamp: isoTime(record.timestamp),
      sessionId: record.sessionId,
      origin: record.origin,
      message: { role: "user", content },
    },
  };
}
