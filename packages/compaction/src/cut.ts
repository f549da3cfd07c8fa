import type { Message } from "@bonsai-agent/messages";
import { legalCuts } from "./legal-cut.ts";
import { startsTurn } from "./turn.ts";
import { unseenResultsFrom } from "./unseen.ts";

/** Where a list of messages is divided. */
export interface Cut {
  /** The first kept message; the list's length when nothing is kept, 0 when everything is. */
  index: number;
  /** Where the turn that the cut splits begins; undefined for a cut between turns. */
  turnStart: number | undefined;
}

export interface FindCutOptions {
  messages: readonly Message[];
  /** Tokens of each message. */
  tokens: readonly number[];
  /** How much of the end is kept, in tokens. */
  keepTokens: number;
}

/**
 * Walks backwards until `keepTokens` is reached; the cut is the nearest legal place at or after the message
 * that reached it. Where there is none before the end, the cut is the nearest legal place before it, so that
 * the end keeps its owner. Where that would keep everything (the first message alone reaches the budget), the cut
 * comes behind the first message. A budget of 0 keeps nothing.
 *
 * Invariant: results that the model has not seen are kept, with the answer that asked for them, whatever came behind.
 */
export function findCut(options: FindCutOptions): Cut {
  const index = cutIndex(options);
  return { index, turnStart: turnStart(options.messages, index) };
}

function cutIndex({ messages, tokens, keepTokens }: FindCutOptions): number {
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

/** Where the turn begins that a cut at this place splits; undefined where it splits none. */
export function turnStart(messages: readonly Message[], cut: number): number | undefined {
  const first = messages[cut];
  if (first === undefined || cut === 0 || startsTurn(first)) return undefined;
  const start = messages.findLastIndex((message, index) => index < cut && startsTurn(message));
  return start < 0 ? undefined : start;
}
