import { callsIn, type Message } from "@bonsai-agent/messages";

/**
 * Ids of calls and results of what a model was sent, each answer's calls with the results right behind it: the two lists
 * of each pair are equal where every call has its result and every result its call.
 */
export function pairs(messages: readonly Message[]): { called: string[]; answered: string[] }[] {
  const found: { called: string[]; answered: string[] }[] = [];
  for (const message of messages) {
    if (message.role === "toolResult") {
      if (found.length === 0) found.push({ called: [], answered: [] });
      found.at(-1)!.answered.push(message.toolCallId);
    } else if (message.role === "assistant" || message.role === "user") {
      found.push({ called: callsIn(message).map(({ id }) => id), answered: [] });
    }
  }
  return found;
}

/** Violations of the law of pairs; empty for a sound history. */
export function unpaired(messages: readonly Message[]): string[] {
  return pairs(messages)
    .filter(({ called, answered }) => called.join() !== answered.join())
    .map(({ called, answered }) => `calls [${called}] have results [${answered}]`);
}
