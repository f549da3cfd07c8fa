import {
  type AssistantContent,
  callsIn,
  contentText,
  type Message,
  type ToolCall,
  type ToolResultMessage,
} from "@bonsai-agent/messages";
import { escapeFrames, orphanResultFrame } from "@bonsai-agent/messages/host";
import type { CatalogueModel } from "../model.ts";
import type { Repair, RepairKind } from "../model-request.ts";
import { repairImages } from "./images.ts";
import {
  mended,
  mendedBlocks,
  type RepairContext,
  type RepairPass,
  repairAnswers,
  repairBeginning,
  repairContent,
  repairEmpties,
  repairOf,
  repairText,
  repairThinking,
  repairThoughtText,
} from "./repair.ts";

const NO_RESULT = "No result was recorded.";
const CLEARED = "[Old tool result content cleared]";

/** Puts one result after each call. Results without a call become text of the user. */
const repairPairs: RepairPass = (messages, context) => {
  if (isPaired(messages)) return messages;
  const results = resultsByCall(messages, context);
  return messages.flatMap((message, index) => {
    if (message.role === "toolResult")
      return results.has(message.toolCallId) ? [] : asUserText(message, context);
    const open = new Map(callsIn(message).map((call) => [call.id, call]));
    return [message, ...batchResults({ messages, index, open, results }, context)];
  });
};

/** True if each batch of calls is followed by its results only. */
function isPaired(messages: readonly Message[]): boolean {
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === "toolResult") {
      if (!open.delete(message.toolCallId)) return false;
      continue;
    }
    if (open.size > 0) return false;
    open = new Set(callsIn(message).map(({ id }) => id));
  }
  return open.size === 0;
}

type Results = ReadonlyMap<string, ToolResultMessage | undefined>;

/** Finds the first result of each call, at any place. */
function resultsByCall(messages: readonly Message[], { found }: RepairContext): Results {
  const results = new Map<string, ToolResultMessage | undefined>();
  for (const message of messages) for (const { id } of callsIn(message)) results.set(id, undefined);
  for (const message of messages) {
    if (message.role !== "toolResult" || !results.has(message.toolCallId)) continue;
    if (results.get(message.toolCallId) === undefined) results.set(message.toolCallId, message);
    else found("duplicate_result");
  }
  return results;
}

interface Batch {
  messages: readonly Message[];
  index: number;
  open: Map<string, ToolCall>;
  results: Results;
}

/** The results of a batch: those after it in their order, then the others in the order of the calls. */
function batchResults(
  { messages, index, open, results }: Batch,
  { found }: RepairContext,
): ToolResultMessage[] {
  const placed: ToolResultMessage[] = [];
  for (let at = index + 1; open.size > 0; at += 1) {
    const message = messages[at];
    if (message?.role !== "toolResult") break;
    if (results.get(message.toolCallId) === message && open.delete(message.toolCallId)) placed.push(message);
  }
  for (const [id, call] of open) {
    const result = results.get(id);
    found(result === undefined ? "unpaired_call" : "misplaced_result");
    placed.push(result ?? unrecorded(call, messages[index]!.timestamp ?? 0));
  }
  return placed;
}

function unrecorded({ id, name }: ToolCall, timestamp: number): ToolResultMessage {
  const content = [{ type: "text" as const, text: NO_RESULT }];
  return { role: "toolResult", toolCallId: id, toolName: name, content, isError: true, timestamp };
}

/** Converts a result without a call. Returns nothing for a result without information. */
function asUserText(
  { toolName, content, timestamp }: ToolResultMessage,
  { found }: RepairContext,
): Message[] {
  found("unpaired_result");
  const text = contentText(content).trim();
  const images = content.filter((block) => block.type === "image");
  if (images.length === 0 && (text === "" || text === CLEARED || text === NO_RESULT)) return [];
  const { begin, end } = orphanResultFrame(toolName);
  const quoted = text === "" ? begin : `${begin}\n${escapeFrames(text)}`;
  const blocks = [{ type: "text" as const, text: quoted }, ...images, { type: "text" as const, text: end }];
  return [{ role: "user", content: blocks, timestamp }];
}

/**
 * Gives a call with the id of an earlier call a new one, and its results too: a result belongs to the latest call before
 * it. The new ids are stable.
 */
const repairCallIds: RepairPass = (messages, { found }) => {
  const taken = new Set(messages.flatMap((message) => callsIn(message).map(({ id }) => id)));
  const seen = new Set<string>();
  const numbers = new Map<string, number>();
  /** The new ids of the following results, by their id. */
  const renamed = new Map<string, string[]>();
  return mended(messages, (message) => {
    if (message.role === "toolResult") {
      const id = nextName(renamed.get(message.toolCallId));
      return id === undefined || id === message.toolCallId ? message : { ...message, toolCallId: id };
    }
    if (message.role !== "assistant") return message;
    const own = new Map<string, string[]>();
    const mendedMessage = mendedBlocks(message, (block: AssistantContent) => {
      if (block.type !== "toolCall") return block;
      const id = seen.has(block.id) || block.id === "" ? freeId({ id: block.id, taken, numbers }) : block.id;
      seen.add(id);
      own.set(block.id, [...(own.get(block.id) ?? []), id]);
      if (id === block.id) return block;
      found("call_id");
      return { ...block, id };
    });
    for (const [id, names] of own) renamed.set(id, names);
    return mendedMessage;
  });
};

/** Two calls of one answer share an id: the first result belongs to the first call. */
function nextName(names: string[] | undefined): string | undefined {
  return names !== undefined && names.length > 1 ? names.shift() : names?.[0];
}

interface FreeIdOptions {
  id: string;
  taken: ReadonlySet<string>;
  /** The last number of each id, to avoid quadratic time if all calls share one. */
  numbers: Map<string, number>;
}

function freeId({ id, taken, numbers }: FreeIdOptions): string {
  const name = id || "call";
  let number = (numbers.get(name) ?? 1) + 1;
  while (taken.has(`${name}-${number}`)) number += 1;
  numbers.set(name, number);
  return `${name}-${number}`;
}

export interface RepairMessagesOptions {
  /** The context, oldest first. May be damaged in any way. */
  messages: readonly Message[];
  model: CatalogueModel;
  /**
   * The time of the latest edit of the context, in milliseconds since the epoch. Leaves out signed thinking of earlier
   * answers. Compactions need no time. Default: never.
   */
  prefixChangedAtMs?: number | undefined;
  /** Leaves out all thinking of answers up to this time, in milliseconds since the epoch. Default: none. */
  dropThinkingUpToMs?: number | undefined;
}

interface RepairedMessages {
  /** The same array if nothing was wrong. */
  messages: readonly Message[];
  repairs: readonly Repair[];
}

/** Each pass relies on the passes before it. */
const passes: readonly RepairPass[] = [
  repairContent,
  repairAnswers,
  repairThinking,
  repairThoughtText,
  repairText,
  repairCallIds,
  repairImages,
  repairEmpties,
  repairPairs,
  repairBeginning,
];

/**
 * Repairs a context for providers. Pure.
 *
 * Invariant: a sound context is returned as the same array, and a repaired one is sound.
 */
export function repairMessages(options: RepairMessagesOptions): RepairedMessages {
  const { messages, model, prefixChangedAtMs, dropThinkingUpToMs } = options;
  const counts = new Map<RepairKind, number>();
  const context: RepairContext = {
    model,
    prefixChangedAtMs,
    dropThinkingUpToMs,
    found: (kind, count = 1) => {
      counts.set(kind, (counts.get(kind) ?? 0) + count);
    },
  };
  const sound = passes.reduce((sum, pass) => pass(sum, context), messages);
  return { messages: sound, repairs: [...counts].map(([kind, count]) => repairOf(kind, count)) };
}
