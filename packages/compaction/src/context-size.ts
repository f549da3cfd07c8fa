import type { Calibration, ContextTokens } from "@bonsai-agent/messages";
import { type ViewItem, viewTokens } from "./context-view.ts";

/**
 * How large a context is, and what its tokens are of: the one definition behind every size before and after a compaction.
 *
 * What was read beyond the estimates of the messages is fixed: the system prompt, the tools, and what estimates miss. It
 * stays, whatever becomes of the messages. Where less was read than is estimated, nothing is fixed, and the messages share
 * what was read.
 */
export interface ContextSize {
  /** As reported, with estimates of what came later; else by estimate. */
  readonly totalTokens: number;
  readonly fixedTokens: number;
  /** Tokens of the total, for estimated tokens of messages. */
  ofEstimate(tokens: number): number;
  /** The most estimated tokens of messages with which the total stays within this. */
  estimateWithin(totalTokens: number): number;
}

export interface ContextSizeOptions {
  reading: ContextTokens;
  /** The messages by estimate. */
  estimatedTokens: number;
  /** The total as a refusal taught it: then all of the reading was too low by the same factor. Default: as read. */
  totalTokens?: number;
}

export function contextSizeOf({ reading, estimatedTokens, ...known }: ContextSizeOptions): ContextSize {
  const { totalTokens = reading.tokens } = known;
  const share = Math.min(1, estimatedTokens / Math.max(1, reading.tokens));
  const messageTokens = Math.round(totalTokens * share);
  const fixedTokens = totalTokens - messageTokens;
  const scale = estimatedTokens === 0 ? 1 : messageTokens / estimatedTokens;
  return {
    totalTokens,
    fixedTokens,
    ofEstimate: (tokens) => Math.round(tokens * scale),
    estimateWithin: (tokens) => (scale === 0 ? 0 : Math.floor((tokens - fixedTokens) / scale)),
  };
}

/**
 * What the tokens before and after a compaction are of.
 *
 * Invariant: before = fixed + summarised + turn prefix + masked + kept, and after = fixed + summary + kept.
 */
export interface CompactionSizes {
  /** System prompt, tools, and what estimates miss. */
  fixedTokens: number;
  /** With the summary of an earlier compaction, which the new one updates. */
  summarisedTokens: number;
  turnPrefixTokens: number;
  /** What masks and cuts take from the messages that are kept. */
  maskedTokens: number;
  /** What stays of the messages that are kept. */
  keptTokens: number;
  /** Of the new summary: estimated until it is written; 0 without one. */
  summaryTokens: number;
}

/** Stands for the compaction entry that is not written yet. */
export const PLANNED_ENTRY_ID = "planned";

export interface CompactionSizesOptions {
  size: ContextSize;
  before: readonly ViewItem[];
  /** A new summary among them has the id of an entry that is planned. */
  after: readonly ViewItem[];
  turnPrefixEntryIds: readonly string[];
}

/** Each part is what it adds to those that are counted before it, so that rounding loses no token. */
export function compactionSizes(options: CompactionSizesOptions): CompactionSizes {
  const { size, before, after } = options;
  const keptIds = new Set(after.map(({ entryId }) => entryId));
  const prefixIds = new Set(options.turnPrefixEntryIds);
  const kept = viewTokens(after.filter(({ entryId }) => entryId !== PLANNED_ENTRY_ID));
  const unmasked = viewTokens(before.filter(({ entryId }) => keptIds.has(entryId)));
  const isPrefix = ({ entryId }: ViewItem) => prefixIds.has(entryId) && !keptIds.has(entryId);
  const withPrefix = unmasked + viewTokens(before.filter(isPrefix));
  const between = (from: number, to: number) => size.ofEstimate(to) - size.ofEstimate(from);
  return {
    fixedTokens: size.fixedTokens,
    summarisedTokens: between(withPrefix, viewTokens(before)),
    turnPrefixTokens: between(unmasked, withPrefix),
    maskedTokens: between(kept, unmasked),
    keptTokens: size.ofEstimate(kept),
    summaryTokens: between(kept, viewTokens(after)),
  };
}

/** The size of a context after a change of its messages. */
export function totalAfter(size: ContextSize, estimatedTokens: number): number {
  return size.fixedTokens + size.ofEstimate(estimatedTokens);
}

/**
 * What is to be known of the session's tokens once its messages take `estimatedTokens`: with it, whoever reads the context
 * next, before an answer has reported its size, finds what the compaction said.
 */
export function calibrationAfter(known: {
  size: ContextSize;
  estimatedTokens: number;
  overheadTokens: number;
  calibration: Calibration | undefined;
}): Calibration | undefined {
  const { size, estimatedTokens, calibration } = known;
  const overheadTokens = totalAfter(size, estimatedTokens) - estimatedTokens;
  if (overheadTokens === known.overheadTokens) return calibration;
  const { ratio = 1, samples = 0 } = calibration ?? {};
  return { ratio, overheadTokens, samples: Math.max(1, samples) };
}
