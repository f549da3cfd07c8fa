import type { ContextTokens } from "@bonsai-agent/messages";
import type { Summariser, SummaryKind } from "../summariser.ts";
import { type Budgets, sendableTokens } from "./limits.ts";
import { type ContextView, editedIds, PLANNED_ENTRY_ID, type ViewItem, viewTokens } from "./view.ts";

/**
 * The size of a context and its parts. Every size before and after a compaction comes from this definition.
 *
 * The part of the reading above the estimates of the messages is fixed: system prompt, tools, and errors of the
 * estimate. No compaction changes it. If the reading is below the estimates, nothing is fixed, and the messages share
 * the reading.
 */
export interface ContextSize {
  /** The reported size plus estimates of later messages; else an estimate. */
  readonly totalTokens: number;
  /** The estimated part of `totalTokens`. */
  readonly estimatedTokens: number;
  readonly fixedTokens: number;
  /** Converts estimated tokens of messages into tokens of the total. */
  ofEstimate(tokens: number): number;
  /** The same for several in a row; rounding loses no token. */
  shares(estimated: readonly number[]): number[];
  /** The maximum estimated tokens of messages for this total. */
  estimateWithin(totalTokens: number): number;
}

interface ContextSizeOptions {
  reading: ContextTokens;
  /** Estimated tokens of the messages. */
  estimatedTokens: number;
  /** The total after a refusal: the reading was too low by one factor. Default: as read. */
  total?: { tokens: number; estimatedTokens: number };
}

export function contextSizeOf({ reading, estimatedTokens, total }: ContextSizeOptions): ContextSize {
  const totalTokens = total?.tokens ?? reading.tokens;
  const share = Math.min(1, estimatedTokens / Math.max(1, reading.tokens));
  const messageTokens = Math.round(totalTokens * share);
  const fixedTokens = totalTokens - messageTokens;
  const scale = estimatedTokens === 0 ? 1 : messageTokens / estimatedTokens;
  const ofEstimate = (tokens: number) => Math.round(tokens * scale);
  return {
    totalTokens,
    estimatedTokens: total?.estimatedTokens ?? reading.trailingTokens,
    fixedTokens,
    ofEstimate,
    shares(estimated) {
      let before = 0;
      return estimated.map((tokens) => {
        const from = ofEstimate(before);
        before += tokens;
        return ofEstimate(before) - from;
      });
    },
    estimateWithin: (tokens) => (scale === 0 ? 0 : Math.floor((tokens - fixedTokens) / scale)),
  };
}

/**
 * The parts of the tokens before and after a compaction.
 *
 * Invariant: before = fixed + summarised + turn prefix + masked + shortened + kept, and after = fixed + summary + kept.
 */
export interface CompactionSizes {
  /** System prompt, tools, and errors of the estimate. */
  fixedTokens: number;
  /** Includes the summary of an earlier compaction, which the new one updates. */
  summarisedTokens: number;
  turnPrefixTokens: number;
  /** Tokens that masks remove from kept messages. */
  maskedTokens: number;
  /** Tokens of removed images and shortened texts. */
  shortenedTokens: number;
  /** Remaining tokens of the kept messages. */
  keptTokens: number;
  /** Tokens of the new summary, estimated until it is written; 0 without one. */
  summaryTokens: number;
}

interface CompactionSizesOptions {
  size: ContextSize;
  before: readonly ViewItem[];
  /** A new summary has the id of the planned entry. */
  after: ContextView;
  turnPrefixEntryIds: readonly string[];
}

/** Each part is a difference of running sums, so that rounding loses no token. */
export function compactionSizes({
  size,
  before,
  after,
  turnPrefixEntryIds,
}: CompactionSizesOptions): CompactionSizes {
  const keptIds = new Set(after.items.map(({ entryId }) => entryId));
  const prefixIds = new Set(turnPrefixEntryIds);
  const maskedIds = new Set(editedIds(after, "mask"));
  const kept = after.items.filter(({ entryId }) => entryId !== PLANNED_ENTRY_ID);
  const whole = before.filter(({ entryId }) => keptIds.has(entryId));
  const isPrefix = ({ entryId }: ViewItem) => prefixIds.has(entryId) && !keptIds.has(entryId);
  const ofMasked = (items: readonly ViewItem[]) =>
    viewTokens(items.filter(({ entryId }) => maskedIds.has(entryId)));
  // Running sums: the kept part, then with removed text, with masked text, and with the turn prefix.
  const keptTo = viewTokens(kept);
  const unmaskedTo = viewTokens(whole);
  const uncutTo = unmaskedTo - (ofMasked(whole) - ofMasked(kept));
  const prefixTo = unmaskedTo + viewTokens(before.filter(isPrefix));
  const between = (from: number, to: number) => size.ofEstimate(to) - size.ofEstimate(from);
  return {
    fixedTokens: size.fixedTokens,
    summarisedTokens: between(prefixTo, viewTokens(before)),
    turnPrefixTokens: between(unmaskedTo, prefixTo),
    maskedTokens: between(uncutTo, unmaskedTo),
    shortenedTokens: between(keptTo, uncutTo),
    keptTokens: size.ofEstimate(keptTo),
    summaryTokens: between(keptTo, viewTokens(after.items)),
  };
}

/** The size of a context after a change of its messages. */
export function totalAfter(size: ContextSize, estimatedTokens: number): number {
  return size.fixedTokens + size.ofEstimate(estimatedTokens);
}

/** Share of a window that a request may take: the answer needs the rest, and estimates err. */
const USABLE_SHARE = 0.8;

/** Sizes that a compaction aims at, in estimated tokens of the messages. */
export interface Goals {
  /** Maximum size of the context afterwards. Undefined if the only goal is a summary. */
  readonly goalTokens: number | undefined;
  /** As `goalTokens`, but without the economy: recent content is lost only to reach this size. */
  readonly thresholdTokens: number | undefined;
  /** Share of the window that is safe to fill. Undefined for an unknown window. */
  readonly windowShareTokens: number | undefined;
  /** Maximum size of a context that is sent. Undefined for an unknown window. */
  readonly sendableTokens: number | undefined;
}

export function goalsFor(
  size: ContextSize,
  of: Pick<Budgets, "windowTokens"> & Record<"compactAboveTokens" | "thresholdTokens", number | undefined>,
): Goals {
  const { windowTokens, compactAboveTokens, thresholdTokens } = of;
  const within = (tokens: number | undefined) =>
    tokens === undefined ? undefined : size.estimateWithin(tokens);
  return {
    goalTokens: within(compactAboveTokens),
    thresholdTokens: within(thresholdTokens),
    windowShareTokens: within(windowTokens && Math.floor(windowTokens * USABLE_SHARE)),
    sendableTokens: within(sendableTokens(windowTokens)),
  };
}

/** The sizes of a summariser's model. */
export type SummariserSizes = Pick<Summariser, "contextWindow" | "maxOutputTokens">;

/** Largest answers to ask for, as shares of the reserve. */
const RESERVE_SHARE: Record<SummaryKind, number> = { history: 0.8, turnPrefix: 0.5, branch: 0.25 };
/** A small summariser needs most of its window for the request. */
const WINDOW_SHARE = 0.25;

/** The largest answer to ask a summariser for, in tokens. */
export function maxSummaryTokens(kind: SummaryKind, summariser: SummariserSizes, budgets: Budgets): number {
  const { contextWindow, maxOutputTokens } = summariser;
  return Math.floor(
    Math.min(
      budgets.reserveTokens * RESERVE_SHARE[kind],
      maxOutputTokens || Number.POSITIVE_INFINITY,
      contextWindow ? contextWindow * WINDOW_SHARE : Number.POSITIVE_INFINITY,
    ),
  );
}

/** Share of the request that an answer may take after a refusal: the next request contains the answer. */
const ANSWER_SHARE = 0.5;
/** Fewer tokens are too few for six headings. */
const MIN_ANSWER_TOKENS = 1_000;

/** The largest answer to a request of this size, after a refusal showed that the known window is wrong. */
export function maxAnswerTokens(requestTokens: number): number {
  return Math.max(MIN_ANSWER_TOKENS, Math.floor(requestTokens * ANSWER_SHARE));
}

/** Maximum tokens of a request to a summariser: its window minus its output limit. */
export function requestCapacity(summariser: SummariserSizes): number {
  const { contextWindow, maxOutputTokens = 0 } = summariser;
  if (!contextWindow) return Number.POSITIVE_INFINITY;
  const outputTokens = Math.max(Math.min(maxOutputTokens, contextWindow / 2), contextWindow * WINDOW_SHARE);
  return Math.floor(contextWindow - outputTokens);
}
