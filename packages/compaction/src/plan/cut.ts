import type { Message } from "@bonsai-agent/messages";
import { callResults } from "@bonsai-agent/messages/host";
import { roleTraits, type ViewItem } from "./view.ts";

/**
 * Returns the index of the first kept message. Adds sizes from the end until `keepTokens` is reached and takes the next
 * legal cut. If no legal cut follows, it takes the last legal one before, so that a call stays with its results. If the
 * first message alone fills the budget, the cut is after it. A budget of 0 keeps nothing.
 *
 * Invariant: tool results that the model has not seen are kept, together with their call.
 */
export function cutIndex(
  items: readonly Pick<ViewItem, "message" | "tokens">[],
  { keepTokens, commandTokens }: { keepTokens: number; commandTokens: number },
): number {
  const messages = items.map((item) => item.message);
  const tokens = items.map((item) =>
    item.message.role === "bashExecution" ? Math.min(item.tokens, commandTokens) : item.tokens,
  );
  const end = messages.length;
  const unseen = unseenResultsFrom(messages) ?? end;
  if (keepTokens <= 0) return unseen;
  const reached = reachedAt(tokens, keepTokens);
  if (reached === undefined) return 0;
  const legal = legalCuts(messages);
  const firstIsAll = reached === 0 && (tokens[0] ?? 0) >= keepTokens;
  const after = legal.indexOf(true, firstIsAll ? 1 : reached);
  const cut = after >= 0 && after < end ? after : Math.max(0, legal.lastIndexOf(true, reached));
  return Math.min(cut, unseen);
}

function reachedAt(tokens: readonly number[], keepTokens: number): number | undefined {
  let kept = 0;
  for (let index = tokens.length - 1; index >= 0; index--) {
    kept += tokens[index] ?? 0;
    if (kept >= keepTokens) return index;
  }
  return undefined;
}

/**
 * `legal[i]`: a cut before message `i` is legal. The last place, after all messages, is always legal.
 *
 * Invariant: a legal cut is never between a tool call and any of its results.
 */
export function legalCuts(messages: readonly Message[]): boolean[] {
  return [...placeFaults(messages).map((fault) => fault === undefined), true];
}

/** Why the kept part may not begin at a place. */
export type CutFault = "nothing before" | "tool result" | "failed answer" | "torn pair" | "unseen";

function placeFaults(messages: readonly Message[]): Array<CutFault | undefined> {
  const torn = tornPlaces(messages);
  return messages.map((message, index) => {
    if (message.role === "toolResult") return "tool result";
    if (torn[index]) return "torn pair";
    const mayStartKept = roleTraits(message).mayStartKept === true && !isFailedAnswer(message);
    return mayStartKept ? undefined : "failed answer";
  });
}

/** The single predicate for "starts a turn". */
export function startsTurn(message: Message): boolean {
  return roleTraits(message).startsTurn === true;
}

/** True at each place between a call and its last result. Linear: marks where pairs open and close. */
function tornPlaces(messages: readonly Message[]): boolean[] {
  const change = new Int32Array(messages.length + 1);
  for (const { callIndex, resultIndex } of callResults(messages)) {
    change[callIndex + 1]! += 1;
    change[resultIndex + 1]! -= 1;
  }
  let open = 0;
  return messages.map((_, index) => {
    open += change[index]!;
    return open > 0;
  });
}

/**
 * The answer whose results the model has not seen. After a failed request and another message of the user, unseen
 * results count as seen: kept for good, they could block every compaction.
 */
function unseenResultsFrom(messages: readonly Message[]): number | undefined {
  const answer = latestAnswer(messages);
  const behind = messages.slice(answer + 1);
  const failed = behind.findIndex(isFailedAnswer);
  const isGivenUp = failed >= 0 && behind.slice(failed).some(startsTurn);
  const hasResults = behind.some((each) => each.role === "toolResult");
  return answer >= 0 && hasResults && !isGivenUp ? answer : undefined;
}

/**
 * The index of the first unanswered message, or the list's length. A failed request that was followed by another does
 * not count.
 */
export function unseenFrom(messages: readonly Message[]): number {
  const results = unseenResultsFrom(messages);
  if (results !== undefined) return results;
  const lastTurn = messages.findLastIndex(startsTurn);
  const given = messages.findLastIndex((each, index) => index < lastTurn && each.role === "assistant");
  return legalCuts(messages).indexOf(true, Math.max(given, latestAnswer(messages)) + 1);
}

/** The index of the latest good answer, or -1. */
export function latestAnswer(messages: readonly Message[]): number {
  return messages.findLastIndex((each) => each.role === "assistant" && !isFailedAnswer(each));
}

/** A failed or stopped answer: the messages before it are still unanswered. */
function isFailedAnswer(message: Message): boolean {
  return message.role === "assistant" && (message.stopReason === "error" || message.stopReason === "aborted");
}

/** The last legal cut up to an index that keeps unseen results. */
export function legalCutBefore(messages: readonly Message[], index: number): number {
  const most = Math.min(index, unseenResultsFrom(messages) ?? messages.length);
  return legalCuts(messages).lastIndexOf(true, most);
}

/**
 * For each message, why a chosen cut before it is not legal. Every cut of `cutIndex` can be chosen.
 *
 * Invariant: results that the model has not seen are kept.
 */
export function cutFaults(messages: readonly Message[]): Array<CutFault | undefined> {
  const unseen = unseenResultsFrom(messages) ?? messages.length;
  return placeFaults(messages).map((fault, index) => {
    if (index === 0) return "nothing before";
    return fault ?? (index > unseen ? "unseen" : undefined);
  });
}
