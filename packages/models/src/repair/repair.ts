import {
  type AssistantContent,
  callsIn,
  contentText,
  type Message,
  type ToolCall,
  type ToolResultMessage,
  type UserContent,
} from "@bonsai-agent/messages";
import { FRAMES, framed } from "@bonsai-agent/messages/host";
import { count as digits } from "@bonsai-agent/messages/numbers";
import type { Repair, RepairKind } from "../model-request.ts";
import {
  mended,
  mendedBlocks,
  type RepairContext,
  type RepairOptions,
  type RepairPass,
  repairAnswers,
  repairContent,
  repairEmpties,
  repairImages,
  repairText,
  repairThinking,
  repairThoughtText,
} from "./repair-content.ts";

const NO_RESULT = "No result was recorded.";
const CLEARED = "[Old tool result content cleared]";

/**
 * Puts one result after each call: those after the answer in their order, then the others in the order of the calls. Results
 * without a call become text of the user.
 */
const repairPairs: RepairPass = (messages, context) => {
  if (isPaired(messages)) return messages;
  const results = resultsByCall(messages, context);
  return messages.flatMap((message, index) => {
    if (message.role === "toolResult")
      return results.has(message.toolCallId) ? [] : asUserText(message, context);
    const calls = callsIn(message);
    if (calls.length === 0) return message;
    const placed: Message[] = [message];
    const open = new Map(calls.map((call) => [call.id, call]));
    for (let at = index + 1; open.size > 0; at += 1) {
      const next = messages[at];
      if (next?.role !== "toolResult") break;
      if (results.get(next.toolCallId) === next && open.delete(next.toolCallId)) placed.push(next);
    }
    for (const [id, call] of open) {
      const result = results.get(id);
      context.found(result === undefined ? "unpaired_call" : "misplaced_result");
      placed.push(result ?? unrecorded(call, message.timestamp ?? 0));
    }
    return placed;
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

/** Finds the first result of each call, at any place. */
function resultsByCall(
  messages: readonly Message[],
  { found }: RepairContext,
): ReadonlyMap<string, ToolResultMessage | undefined> {
  const results = new Map<string, ToolResultMessage | undefined>();
  for (const message of messages) for (const { id } of callsIn(message)) results.set(id, undefined);
  for (const message of messages) {
    if (message.role !== "toolResult" || !results.has(message.toolCallId)) continue;
    if (results.get(message.toolCallId) === undefined) results.set(message.toolCallId, message);
    else found("duplicate_result");
  }
  return results;
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
  const { begin, end } = FRAMES.orphanResult(toolName);
  const blocks: UserContent[] = [
    { type: "text", text: framed({ begin, end: "" }, text) },
    ...images,
    { type: "text", text: end },
  ];
  return [{ role: "user", content: blocks, timestamp }];
}

/**
 * Gives a call with the id of an earlier call a new one, and its results too: a result belongs to the latest call before
 * it. The new ids are stable.
 */
const repairCallIds: RepairPass = (messages, { found }) => {
  const taken = new Set(messages.flatMap((message) => callsIn(message).map(({ id }) => id)));
  const seen = new Set<string>();
  /** The last number of each id, to avoid quadratic time if all calls share one. */
  const numbers = new Map<string, number>();
  const freeId = (name: string) => {
    let number = (numbers.get(name) ?? 1) + 1;
    while (taken.has(`${name}-${number}`)) number += 1;
    numbers.set(name, number);
    return `${name}-${number}`;
  };
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
      const id = seen.has(block.id) || block.id === "" ? freeId(block.id || "call") : block.id;
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

/** A conversation must begin with the user: adds a line before a first answer. */
const repairBeginning: RepairPass = (messages, { found }) => {
  const first = messages.find((message) => message.role !== "system");
  if (first?.role !== "assistant") return messages;
  found("no_user_first");
  const at = messages.indexOf(first);
  const { timestamp } = first;
  const line: Message = { role: "user", content: "[Earlier messages are no longer shown]", timestamp };
  return [...messages.slice(0, at), line, ...messages.slice(at)];
};

/** `#` is the count, `{one|several}` a part that depends on it. */
const details: Readonly<Record<RepairKind, string>> = {
  damaged_content: "Omitted {a damaged part of a message|# damaged parts of messages}.",
  unpaired_call:
    "Added {a placeholder result to a tool call|placeholder results to # tool calls} without a result.",
  unpaired_result:
    "Sent {a tool result|# tool results} as text, or omitted {it|them} if empty: {its call is|their calls are} missing.",
  misplaced_result: "Moved {a tool result to its call|# tool results to their calls}.",
  duplicate_result: "Omitted {a second result of the same call|# repeated results of the same calls}.",
  empty_message: 'Omitted the empty parts of {a message|# messages}, or replaced them with "(no output)".',
  failed_answer:
    "Omitted {an interrupted answer, or sent only its text|# interrupted answers, or sent only their text}.",
  bound_thinking: "Omitted {thinking|# parts of thinking} from another model or from an earlier context.",
  lone_surrogate: "Replaced invalid Unicode characters in {a message|# messages}.",
  call_id:
    "Gave {a tool call a new id: an earlier call has the same id|# tool calls new ids: earlier calls have the same ids}.",
  image_not_supported: "Omitted {an image|# images}: the model accepts only text.",
  too_many_bytes: "Omitted {an image|# images}: the request would be too large.",
  no_user_first: "Added a placeholder for the first user message: a conversation must start with the user.",
};

/** Describes a repair for users. */
export function repairOf(kind: RepairKind, count: number): Repair {
  const detail = details[kind].replaceAll(/\{([^|]*)\|([^}]*)\}/g, count === 1 ? "$1" : "$2");
  return { kind, count, detail: detail.replace("#", digits(count)) };
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
export function repairMessages(options: RepairOptions): {
  /** The same array if nothing was wrong. */
  messages: readonly Message[];
  repairs: readonly Repair[];
} {
  const { messages } = options;
  const counts = new Map<RepairKind, number>();
  const context: RepairContext = {
    ...options,
    found: (kind, count = 1) => {
      counts.set(kind, (counts.get(kind) ?? 0) + count);
    },
  };
  const sound = passes.reduce((sum, pass) => pass(sum, context), messages);
  return { messages: sound, repairs: [...counts].map(([kind, count]) => repairOf(kind, count)) };
}
