import type { Message } from "@bonsai-agent/messages";
import { isFailedAnswer } from "./failed-answer.ts";
import { legalCuts } from "./legal-cut.ts";
import { startsTurn } from "./turn.ts";

/**
 * The answer whose results the model has not seen; undefined where there is none. Once the user has spoken after a
 * request with them failed, they are the past like all else: kept for good, they could block every way on.
 */
export function unseenResultsFrom(messages: readonly Message[]): number | undefined {
  const answer = latestAnswer(messages);
  const behind = messages.slice(answer + 1);
  const failed = behind.findIndex(isFailedAnswer);
  const isGivenUp = failed >= 0 && behind.slice(failed).some(startsTurn);
  const hasResults = behind.some((each) => each.role === "toolResult");
  return answer >= 0 && hasResults && !isGivenUp ? answer : undefined;
}

/**
 * Where what the model has not answered yet begins, results, prompts and whatever else came behind its latest answer;
 * the list's length when it has answered everything. A request that failed and was followed by another is the past.
 */
export function unseenFrom(messages: readonly Message[]): number {
  const results = unseenResultsFrom(messages);
  if (results !== undefined) return results;
  const lastTurn = messages.findLastIndex(startsTurn);
  const given = messages.findLastIndex((each, index) => index < lastTurn && each.role === "assistant");
  return legalCuts(messages).indexOf(true, Math.max(given, latestAnswer(messages)) + 1);
}

/** The latest that did not fail; -1 where there is none. */
function latestAnswer(messages: readonly Message[]): number {
  return messages.findLastIndex((each) => each.role === "assistant" && !isFailedAnswer(each));
}
