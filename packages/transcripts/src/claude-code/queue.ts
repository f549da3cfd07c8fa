import { contentText } from "@bonsai-agent/messages";
import { type Fields, fieldsAt, type JsonLine, stringAt, typeOf } from "../import/json-lines.ts";
import type { UuidNode } from "../import/uuid-tree.ts";
import { blocksOf, hasResults, messageBlocks } from "./records.ts";

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

/** The reason of a delivery. Records of older versions have none. */
const DELIVERED = "absorbed_mid_turn";

/**
 * Reads the records of the queue: `remove` delivers a message within a turn, `dequeue` makes it a user record of its own,
 * `popAll` puts all back into the editor. Returns the messages that the model got within a turn and that no other record
 * has, and the messages that still waited at the end. Leaves out empty messages: an attachment has their content.
 */
export function replayQueue(lane: readonly JsonLine[]): {
  delivered: QueuedMessage[];
  left: QueuedMessage[];
} {
  const queues = new Map<string, Queue>();
  const removed: QueuedMessage[] = [];
  for (const { line, value } of lane) {
    const session = stringAt(value, "sessionId") ?? "";
    const queue = queues.get(session) ?? new Queue();
    queues.set(session, queue);
    if (value.type === "queue-operation") removed.push(...queue.apply(value, line));
    else if (queue.messages.size > 0 && isPrompt(value))
      queue.take(wordsOf(fieldsAt(value, "message")?.content));
  }
  const left = [...queues.values()].flatMap(({ messages }) => [...messages]);
  return {
    delivered: withoutCarried(removed, lane).filter(({ words }) => words !== ""),
    left: left.filter(({ words }) => words !== ""),
  };
}

/** True for a user record that begins a turn. */
function isPrompt(record: Fields): boolean {
  return record.type === "user" && record.isCompactSummary !== true && !hasResults(record);
}

/** The queue of one session, first in, first out. */
class Queue {
  readonly messages = new Set<QueuedMessage>();
  readonly #byWords = new Map<string, QueuedMessage[]>();

  /** Returns the message that an operation delivers to the model, if any. */
  apply(record: Fields, line: number): QueuedMessage[] {
    const { operation, content, reason = DELIVERED } = record;
    const message = { content, words: wordsOf(content), line, endLine: line, record };
    if (operation === "enqueue") {
      this.messages.add(message);
      const same = this.#byWords.get(message.words) ?? [];
      this.#byWords.set(message.words, same);
      same.push(message);
    } else if (operation === "popAll") {
      this.messages.clear();
      this.#byWords.clear();
    } else if (operation === "remove") {
      const queued = this.take(content === undefined ? undefined : message.words);
      if (reason === DELIVERED) return [{ ...(queued ?? message), endLine: line, record }];
    } else if (operation === "dequeue" && content !== undefined) this.take(message.words);
    // A dequeue without words is followed by the prompt that it made, which has the words.
    return [];
  }

  /** Removes and returns the first message, or the first with these words. */
  take(words: string | undefined): QueuedMessage | undefined {
    const [first] = words === undefined ? this.messages : (this.#byWords.get(words) ?? []);
    if (first === undefined) return undefined;
    this.messages.delete(first);
    this.#byWords.get(first.words)?.shift();
    return first;
  }
}

/**
 * Drops messages that another record has too: later versions add an attachment with the same words, or write the words
 * beside results. If fewer records than messages have the words, the latest messages are dropped.
 */
function withoutCarried(removed: readonly QueuedMessage[], lane: readonly JsonLine[]): QueuedMessage[] {
  if (removed.length === 0) return [];
  const carriers = new Map<string, number>();
  for (const { value } of lane) {
    const words = carriedWords(value);
    if (words !== undefined) carriers.set(words, (carriers.get(words) ?? 0) + 1);
  }
  const alone = removed.toReversed().filter(({ words }) => {
    const left = carriers.get(words) ?? 0;
    carriers.set(words, left - 1);
    return left <= 0;
  });
  return alone.reverse();
}

/** The words of a record that can be a delivered message. */
function carriedWords(record: Fields): string | undefined {
  const attachment = fieldsAt(record, "attachment");
  if (attachment?.type === "queued_command") return wordsOf(attachment.prompt);
  if (record.type !== "user" || isPrompt(record)) return undefined;
  return wordsOf(messageBlocks(record).filter((block) => block.type !== "tool_result"));
}

/** Text without differences of white space. Other blocks count by their type. */
function wordsOf(content: unknown): string {
  const blocks = blocksOf(content);
  const marks = blocks.filter(({ type }) => type !== "text").map((block) => `[${typeOf(block)}]`);
  return [contentText(blocks), ...marks].join(" ").replace(/\s+/g, " ").trim();
}

/**
 * Adds a user record for each delivered message after the last record before its delivery. The next record follows it, if
 * it followed that record; after a rewind the message is a branch of its own. Changes the parents of the given nodes.
 */
export function withDeliveries(nodes: readonly UuidNode[], delivered: readonly QueuedMessage[]): UuidNode[] {
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
  return [...(added.get(undefined) ?? []), ...nodes.flatMap((node) => [node, ...(added.get(node) ?? [])])];
}

function userNode({ content, line, endLine, record }: QueuedMessage, parent: string | null): UuidNode {
  const uuid = `queued:${line}/${endLine}`;
  const { timestamp, sessionId, origin } = record;
  const message = { role: "user", content };
  return {
    uuid,
    parent,
    line: endLine,
    record: { type: "user", uuid, timestamp, sessionId, origin, message },
  };
}
