import {
  type AssistantContent,
  type AssistantMessage,
  contentText,
  type Message,
  type ToolCall,
  type ToolResultMessage,
  toolCalls,
} from "@bonsai-agent/messages";
import { inertFrames, resultFrame } from "@bonsai-agent/messages/frames";
import type { CatalogueModel } from "../model.ts";
import {
  mended,
  mendedBlocks,
  type Repair,
  type RepairContext,
  type RepairKind,
  type RepairPass,
  repairImages,
  repairOf,
} from "./repair.ts";
import {
  repairAnswers,
  repairBeginning,
  repairContent,
  repairEmpties,
  repairText,
  repairThinking,
  repairThoughtText,
} from "./repair-content.ts";

const NO_RESULT = "No result was recorded.";
/** A placeholder with no information of its own. */
const CLEARED = "[Old tool result content cleared]";

/** Puts exactly one result for each call right behind it; tells results without a call as the user's text. */
const repairPairs: RepairPass = (messages, context) => {
  if (isPaired(messages)) return messages;
  const results = resultsByCall(messages, context);
  const placed: Message[] = [];
  for (const [index, message] of messages.entries()) {
    if (message.role === "toolResult") {
      if (!results.has(message.toolCallId)) placed.push(...asUserText(message, context));
      continue;
    }
    placed.push(message);
    const calls = toolCalls(message);
    if (calls.length > 0) placed.push(...behind({ messages, index, calls, results }, context));
  }
  return placed;
};

/** The common case, without a copy: every batch of calls is followed by its results and nothing else. */
function isPaired(messages: readonly Message[]): boolean {
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === "toolResult") {
      if (!open.delete(message.toolCallId)) return false;
      continue;
    }
    if (open.size > 0) return false;
    open = new Set(toolCalls(message).map(({ id }) => id));
  }
  return open.size === 0;
}

type Results = ReadonlyMap<string, ToolResultMessage | undefined>;

/** The result of every call, wherever it stands; undefined where there is none. The first of several is the one. */
function resultsByCall(messages: readonly Message[], { found }: RepairContext): Results {
  const results = new Map<string, ToolResultMessage | undefined>();
  for (const message of messages) for (const { id } of toolCalls(message)) results.set(id, undefined);
  for (const message of messages) {
    if (message.role !== "toolResult" || !results.has(message.toolCallId)) continue;
    if (results.get(message.toolCallId) === undefined) results.set(message.toolCallId, message);
    else found("duplicate_result");
  }
  return results;
}

interface Batch {
  messages: readonly Message[];
  /** Of the answer that calls. */
  index: number;
  calls: readonly ToolCall[];
  results: Results;
}

/** The results of a batch: those that stand behind it in their order, then the others in the order of the calls. */
function behind({ messages, index, calls, results }: Batch, { found }: RepairContext): ToolResultMessage[] {
  const ids = new Set(calls.map(({ id }) => id));
  const placed: ToolResultMessage[] = [];
  for (let at = index + 1; at < messages.length; at += 1) {
    const message = messages[at]!;
    if (message.role !== "toolResult") break;
    if (ids.has(message.toolCallId) && results.get(message.toolCallId) === message) placed.push(message);
  }
  const missing = calls.filter(({ id }) => !placed.some(({ toolCallId }) => toolCallId === id));
  for (const call of missing) {
    const result = results.get(call.id);
    found(result === undefined ? "unpaired_call" : "misplaced_result");
    placed.push(result ?? unrecorded(call, messages[index]!.timestamp ?? 0));
  }
  return placed;
}

function unrecorded({ id, name }: ToolCall, timestamp: number): ToolResultMessage {
  const content = [{ type: "text" as const, text: NO_RESULT }];
  return { role: "toolResult", toolCallId: id, toolName: name, content, isError: true, timestamp };
}

/** A result whose call is gone, as something that the user says; nothing where it held no information. */
function asUserText(
  { toolName, content, timestamp }: ToolResultMessage,
  { found }: RepairContext,
): Message[] {
  found("unpaired_result");
  const text = contentText(content).trim();
  const images = content.filter((block) => block.type === "image");
  if (images.length === 0 && (text === "" || text === CLEARED || text === NO_RESULT)) return [];
  const { begin, end } = resultFrame(toolName);
  const told = text === "" ? begin : `${begin}\n${inertFrames(text)}`;
  const blocks = [{ type: "text" as const, text: told }, ...images, { type: "text" as const, text: end }];
  return [{ role: "user", content: blocks, timestamp }];
}

/**
 * Gives calls that share an id with an earlier call one of their own, and their results with them: results belong to
 * the call that came last before them. Ids come out the same each time.
 */
const repairCallIds: RepairPass = (messages, { found }) => {
  const taken = new Set(messages.flatMap((message) => callsOf(message).map(({ id }) => id)));
  const seen = new Set<string>();
  const numbers = new Map<string, number>();
  /** What the results of an id are called from here on. */
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

/** Two calls of one answer with one id: the first result is the first call's, the last name stays for what follows. */
function nextName(names: string[] | undefined): string | undefined {
  return names !== undefined && names.length > 1 ? names.shift() : names?.[0];
}

interface FreeIdOptions {
  id: string;
  /** All ids that stand in the history. */
  taken: ReadonlySet<string>;
  /** The last number of each id: a history in which all calls share one must not be counted through for each. */
  numbers: Map<string, number>;
}

function freeId({ id, taken, numbers }: FreeIdOptions): string {
  const name = id || "call";
  let number = (numbers.get(name) ?? 1) + 1;
  while (taken.has(`${name}-${number}`)) number += 1;
  numbers.set(name, number);
  return `${name}-${number}`;
}

function callsOf(message: Message): ToolCall[] {
  if (message.role !== "assistant") return [];
  return (message as AssistantMessage).content.filter((block) => block.type === "toolCall");
}

/** A context, and who will read it. */
export interface RepairMessagesOptions {
  /** The context, oldest first; may be damaged in any way. */
  messages: readonly Message[];
  /** Who will read it. */
  model: CatalogueModel;
  /**
   * When the context was last edited, in milliseconds since the epoch: signed thinking of older answers is left out.
   * Compactions are seen by themselves. Default: never.
   */
  prefixChangedAtMs?: number | undefined;
  /** Leave out all thinking of answers up to this time, in milliseconds since the epoch. Default: what is sound stays. */
  dropThinkingUpToMs?: number | undefined;
}

/** A context that providers take. */
export interface RepairedMessages {
  /** The same array where nothing was wrong. */
  messages: readonly Message[];
  /** One for each kind; empty for a sound context. */
  repairs: readonly Repair[];
}

/** Each pass may rely on what those before it have mended: sound blocks first, what leaves nothing behind last. */
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
 * Mends what providers refuse. Pure. Invariant: a sound context comes back as the same array, and what comes back is
 * sound. `messages` that hold no word at all come back empty.
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
