import { type Message, toolCalls } from "@bonsai-agent/messages";
import { isFailedAnswer } from "./failed-answer.ts";

/**
 * Where the kept part may begin: `legal[i]` is true when a cut before message `i` is legal. The last place,
 * behind all messages, is legal unless a result is missing there only by the cut.
 *
 * Invariant: a legal cut never stands between a tool call and any of its results.
 */
export function legalCuts(messages: readonly Message[]): boolean[] {
  const torn = tornPlaces(messages);
  const legal = messages.map((message, index) => !torn[index] && startsKeptPart(message));
  legal.push(true);
  return legal;
}

function startsKeptPart(message: Message): boolean {
  if (message.role === "assistant") return !isFailedAnswer(message);
  return message.role !== "toolResult" && message.role !== "compactionSummary" && message.role !== "system";
}

/** True at each place that lies between a call and its last result. Linear: marks where pairs open and close. */
function tornPlaces(messages: readonly Message[]): boolean[] {
  const change = new Int32Array(messages.length + 1);
  for (const [call, result] of callSpans(messages)) {
    change[call + 1]! += 1;
    change[result + 1]! -= 1;
  }
  let open = 0;
  return messages.map((_, index) => {
    open += change[index]!;
    return open > 0;
  });
}

/** Where each call and its result stand; a result belongs to the nearest earlier call of its id. */
function callSpans(messages: readonly Message[]): Array<[call: number, result: number]> {
  const lastCall = new Map<string, number>();
  const spans: Array<[number, number]> = [];
  messages.forEach((message, index) => {
    for (const call of toolCalls(message)) lastCall.set(call.id, index);
    const call = message.role === "toolResult" ? lastCall.get(message.toolCallId) : undefined;
    if (call !== undefined) spans.push([call, index]);
  });
  return spans;
}
