import type { Message, ToolCall, ToolResultMessage } from "./message.ts";
import { callsIn } from "./text/text.ts";

/** A tool call and one of its results, with the indexes of their messages. */
export interface CallResult {
  call: ToolCall;
  callIndex: number;
  result: ToolResultMessage;
  resultIndex: number;
}

/**
 * Pairs tool results with their calls, message by message, oldest first. Keeps the calls only, no message.
 *
 * Invariant: a result belongs to the latest earlier call with its id.
 */
export class CallPairs {
  readonly #calls = new Map<string, { call: ToolCall; callIndex: number }>();
  #count = 0;

  /** Reads the next message. Returns the call that it is a result of; undefined for other messages and unknown calls. */
  add(message: Message): { call: ToolCall; callIndex: number } | undefined {
    for (const call of callsIn(message)) this.#calls.set(call.id, { call, callIndex: this.#count });
    this.#count += 1;
    return message?.role === "toolResult" ? this.#calls.get(message.toolCallId) : undefined;
  }
}

/** The results among the messages with their calls, in the order of the results. Leaves out results of unknown calls. */
export function callResults(messages: readonly Message[]): CallResult[] {
  const pairs = new CallPairs();
  return messages.flatMap((message, resultIndex) => {
    const called = pairs.add(message);
    return called === undefined ? [] : [{ ...called, result: message as ToolResultMessage, resultIndex }];
  });
}
