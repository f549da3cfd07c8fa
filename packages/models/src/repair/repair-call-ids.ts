import type { AssistantMessage, Message, ToolCall } from "@bonsai-agent/messages";
import { mended, type RepairPass } from "./repair-pass.ts";

/**
 * Gives calls that share an id with an earlier call one of their own, and their results with them: results belong to
 * the call that came last before them. Ids come out the same each time.
 */
export const repairCallIds: RepairPass = (messages, { found }) => {
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
    const content = mended(message.content, (block) => {
      if (block.type !== "toolCall") return block;
      const id = seen.has(block.id) || block.id === "" ? freeId({ id: block.id, taken, numbers }) : block.id;
      seen.add(id);
      own.set(block.id, [...(own.get(block.id) ?? []), id]);
      if (id === block.id) return block;
      found("call_id");
      return { ...block, id };
    });
    for (const [id, names] of own) renamed.set(id, names);
    return content === message.content ? message : { ...message, content: [...content] };
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
