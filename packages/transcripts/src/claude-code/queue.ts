import { contentText, isRecord } from "@bonsai-agent/messages";
import { type Fields, fieldsAt, isoTime, type JsonLine, stringAt } from "../import/json-lines.ts";
import type { UuidNode } from "../import/uuid-tree.ts";
import { messageBlocks } from "./records.ts";

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

interface QueueEnd {
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
function isPrompt(record: Fields): boolean {
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
  const others = content.filter((block) => isRecord(block) && block.type !== "text");
  const marks = others.map((block) => `[${stringAt(block, "type")}]`);
  return [contentText(content.filter(isRecord)), ...marks].join(" ").replace(/\s+/g, " ").trim();
}

/**
 * The records of a lane with a user record for each message that was delivered within a turn. It stands before
 * the answer that saw it first, behind all that was handed over with it; where none followed on the same branch,
 * behind what was written before it. Changes the parents of the given nodes.
 */
export function withDeliveries(nodes: readonly UuidNode[], delivered: readonly QueuedMessage[]): UuidNode[] {
  if (delivered.length === 0) return [...nodes];
  const placed = new Placement(nodes);
  for (const message of delivered) placed.add(message);
  return placed.nodes();
}

class Placement {
  readonly #nodes: readonly UuidNode[];
  /** In file order. */
  readonly #records: UuidNode[];
  readonly #byUuid: Map<string, UuidNode>;
  readonly #turns: Turns;
  readonly #before = new Map<UuidNode, UuidNode[]>();
  readonly #behind = new Map<UuidNode | undefined, UuidNode[]>();
  readonly #follows = new Map<UuidNode, boolean>();
  #at = 0;

  constructor(nodes: readonly UuidNode[]) {
    this.#nodes = nodes;
    this.#records = nodes.toSorted((a, b) => a.line - b.line);
    this.#byUuid = new Map(nodes.map((node) => [node.uuid, node]));
    this.#turns = turnsOf(this.#records);
  }

  add(message: QueuedMessage): void {
    while (this.#at < this.#records.length && this.#records[this.#at]!.line < message.endLine) this.#at += 1;
    const last = this.#records[this.#at - 1];
    const next = this.#records[this.#turns.next[this.#at]!];
    const isNext = next !== undefined && this.#isNext(next);
    const row = isNext ? this.#before : this.#behind;
    const place = isNext ? next : last;
    const before = row.get(place as UuidNode) ?? [];
    const parent = isNext ? next.parent : (before.at(-1)?.uuid ?? last?.uuid ?? null);
    const node = userNode(message, parent);
    if (isNext) next.parent = node.uuid;
    row.set(place as UuidNode, before);
    before.push(node);
    this.#byUuid.set(node.uuid, node);
  }

  nodes(): UuidNode[] {
    const rest = this.#nodes.flatMap((node) => [
      ...(this.#before.get(node) ?? []),
      node,
      ...(this.#behind.get(node) ?? []),
    ]);
    return [...(this.#behind.get(undefined) ?? []), ...rest];
  }

  /** True where a turn goes on from what was said last, and not from somewhere that the user went back to. */
  #isNext(next: UuidNode): boolean {
    const known = this.#follows.get(next);
    if (known !== undefined) return known;
    const said = this.#turns.said[this.#at];
    let above = next.parent === null ? undefined : this.#byUuid.get(next.parent);
    while (above !== undefined && !isTalk(above.record) && above.parent !== null)
      above = this.#byUuid.get(above.parent);
    const follows =
      said === undefined
        ? true
        : above === said ||
          (above !== undefined && answerId(above) !== undefined && answerId(above) === answerId(said));
    this.#follows.set(next, follows);
    return follows;
  }
}

interface Turns {
  /** By place: what was said last before it. */
  said: Array<UuidNode | undefined>;
  /** By place: the first record from it on with which another answer or a prompt begins; else the length. */
  next: number[];
}

function turnsOf(records: readonly UuidNode[]): Turns {
  const said: Turns["said"] = [undefined];
  for (const [at, node] of records.entries()) said.push(isTalk(node.record) ? node : said[at]);
  const next: number[] = new Array(records.length + 1).fill(records.length);
  for (let at = records.length - 1; at >= 0; at -= 1)
    next[at] = beginsTurn(records[at]!, said[at]) ? at : next[at + 1]!;
  return { said, next };
}

function beginsTurn(node: UuidNode, said: UuidNode | undefined): boolean {
  const id = answerId(node);
  return id === undefined ? isTalk(node.record) : said === undefined || answerId(said) !== id;
}

function isTalk(record: Fields): boolean {
  return record.type === "assistant" || isPrompt(record) || record.subtype === "compact_boundary";
}

/** One answer is written as several records with one id. */
function answerId({ record, uuid }: UuidNode): string | undefined {
  return record.type === "assistant" ? (stringAt(fieldsAt(record, "message"), "id") ?? uuid) : undefined;
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
