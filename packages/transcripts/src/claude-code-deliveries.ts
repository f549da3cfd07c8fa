import { isPrompt, type QueuedMessage } from "./claude-code-queue.ts";
import { type Fields, fieldsAt, isoTime, stringAt } from "./fields.ts";
import type { UuidNode } from "./uuid-tree.ts";

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
      message: { role: "user", content },
    },
  };
}
