import { byScript } from "@bonsai-agent/messages";
import type { Budgets } from "./budget.ts";
import type { Summariser, SummaryKind } from "./summariser.ts";

/** What tells how much can be asked of a summariser. */
export type SummariserSizes = Pick<Summariser, "contextWindow" | "maxOutputTokens">;

/** The largest answers that are asked for, as shares of the reserve. */
const reserveShares: Record<SummaryKind, number> = { history: 0.8, turnPrefix: 0.5, branch: 0.25 };
/** A small summariser must keep most of its window for what it reads. */
const WINDOW_SHARE = 0.25;

/** The largest answer to ask a summariser for, in tokens. */
export function maxSummaryTokens(kind: SummaryKind, summariser: SummariserSizes, budgets: Budgets): number {
  const { contextWindow, maxOutputTokens } = summariser;
  return Math.floor(
    Math.min(
      budgets.reserveTokens * reserveShares[kind],
      maxOutputTokens || Number.POSITIVE_INFINITY,
      contextWindow ? contextWindow * WINDOW_SHARE : Number.POSITIVE_INFINITY,
    ),
  );
}

/** After a refusal, an answer may take so much of what its request holds: the next request has to hold it too. */
const ANSWER_SHARE = 0.5;
/** With less, a model cannot say anything under six headings. */
const LEAST_ANSWER_TOKENS = 1_000;

/** The largest answer to a request of so many tokens, where a refusal has shown that the window is not what was believed. */
export function mostAnswerTokens(requestTokens: number): number {
  return Math.max(LEAST_ANSWER_TOKENS, Math.floor(requestTokens * ANSWER_SHARE));
}

/** The most tokens that a request to a summariser may have: its window minus its output cap. */
export function requestCapacity(summariser: SummariserSizes): number {
  const { contextWindow, maxOutputTokens = 0 } = summariser;
  if (!contextWindow) return Number.POSITIVE_INFINITY;
  const outputTokens = Math.max(Math.min(maxOutputTokens, contextWindow / 2), contextWindow * WINDOW_SHARE);
  return Math.floor(contextWindow - outputTokens);
}

/** An estimate may err by so much on paths and values. */
const SAFETY = 1.1;

/** Tokens of a text, rather too many than too few: for what is promised to stay within a bound. */
export function highTokens(text: string): number {
  return Math.ceil(byScript(text) * SAFETY);
}
