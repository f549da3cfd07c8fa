import { estimateTokens, type Message } from "@bonsai-agent/messages";
import { type CarryOver, carriedTokens, replacedTokens, summaryText } from "../carry/carry-over.ts";
import { recordAfter } from "../carry/record.ts";
import type { CompactionPlan } from "../plan/cut.ts";
import { digestText } from "../record/digest.ts";
import { dividedTokens, type Part } from "../record/shares.ts";
import { closingsTokens, otherClosings, summaryProse, wordsTokens } from "../record/statements.ts";
import type { Summariser, SummaryKind, SummaryRequest } from "../summariser.ts";
import type { Run } from "./run.ts";

/** Maximum tokens of the prose of a digest. */
const DIGEST_PROSE_TOKENS = 5_900;
/** Maximum tokens of the user's words in a digest that is not followed by them. */
const DIGEST_WORDS_TOKENS = 4_000;
/** A turn prefix and a branch are read beside a history or a live context, so they are shorter. */
const KIND_SHARE: Record<SummaryKind, number> = { history: 1, turnPrefix: 0.35, branch: 0.6 };

/**
 * The summariser that needs no model. It quotes messages word for word, and reports the outcome of commands. The same
 * messages give the same digest: it uses no clock, chance or locale.
 */
export const builtInDigest: Summariser = {
  name: "digest",
  isExtract: true,
  async summarise(request: SummaryRequest) {
    if (request.signal.aborted) return { text: "", stopReason: "aborted" };
    return { text: digestOf(request), stopReason: "stop" };
  },
};

/** Returns the built-in digest, a summariser that needs no model. */
export function digestSummariser(): Summariser {
  return builtInDigest;
}

function digestOf(request: SummaryRequest): string {
  const { kind, messages, following = [], previousSummary, focus, carriesUserWords = false } = request;
  const source = (message: (typeof messages)[number]) => ({ message });
  const record =
    request.record ??
    recordAfter({
      messages: messages.map(source),
      following: following.map(source),
      wordsTokens: DIGEST_WORDS_TOKENS,
    });
  const maxTokens = Math.floor(Math.min(DIGEST_PROSE_TOKENS, request.maxSummaryTokens) * KIND_SHARE[kind]);
  return digestText({
    record,
    earlierSummary: [previousSummary, ...prosesOf(messages, "compactionSummary")].join("\n"),
    branchSummaries: prosesOf(messages, "branchSummary"),
    focus,
    carriesUserWords,
    maxTokens,
  });
}

function prosesOf(messages: readonly Message[], role: "branchSummary" | "compactionSummary"): string[] {
  return messages.flatMap((message) => (message.role === role ? [summaryProse(message)] : []));
}

/** A span to digest. */
interface DigestedSpan {
  plan: CompactionPlan;
  run: Run;
}

/**
 * Tokens of a digest with its frame and everything that it carries: the larger of `usual` and a share of the window. Each
 * compaction after the first `free` ones adds `perCompaction`. Only a long request adds more.
 */
const DIGEST_TOKENS = { usual: 6_000, free: 4, perCompaction: 390, maxAdded: 1_550, min: 600 };
/** Shares of the window and of the newly summarised span: a digest has to shrink the context. */
const DIGEST_SHARE = { window: 0.04, maxWindow: 0.15, span: 0.6, shortSpan: 0.8 };
/** Shares of a digest's tokens, if not everything fits. */
const SHARES = { records: 2, words: 7, closings: 2 };
/** Maximum for the agent's answers, if everything fits. */
const CLOSINGS_TOKENS = 2_000;
const MIN_PROSE_TOKENS = 1_000;

function digestTokens({ record }: CarryOver, { plan, run }: DigestedSpan): number {
  const { windowTokens = DEFAULT_WINDOW_TOKENS } = run.budgets;
  const { previousTokens, newTokens } = replacedTokens(plan);
  const { usual, free, perCompaction, maxAdded, min } = DIGEST_TOKENS;
  const added = Math.min(maxAdded, perCompaction * Math.max(0, record.spans - free));
  const most = Math.max(usual, windowTokens * DIGEST_SHARE.window) + added;
  const window = Math.floor(windowTokens * DIGEST_SHARE.maxWindow);
  const span = Math.floor(previousTokens + newTokens * DIGEST_SHARE.span);
  const least = Math.min(min, Math.floor((previousTokens + newTokens) * DIGEST_SHARE.shortSpan));
  return Math.min(most, Math.max(least, window), Math.max(least, span));
}

/** For a model whose window is unknown: the usual size. */
const DEFAULT_WINDOW_TOKENS = DIGEST_TOKENS.usual / DIGEST_SHARE.window;

/** Tokens of the digest's prose beside everything that is carried around it. */
export function digestProseTokens(carried: CarryOver, span: DigestedSpan): number {
  const records = { need: Number.POSITIVE_INFINITY, share: SHARES.records };
  const most = dividedTokens(leftTokens("", carried, span), { records, ...statementParts(carried) }).records;
  return Math.max(Math.min(MIN_PROSE_TOKENS, digestTokens(carried, span) / 2), most);
}

/** Divides the rest of the digest between the user's words and the agent's answers between them. */
export function withStatements(prose: string, carried: CarryOver, span: DigestedSpan): CarryOver {
  if (carried.wordsTokens === 0) return carried;
  const tokens = dividedTokens(leftTokens(prose, carried, span), statementParts(carried));
  const closings = otherClosings(carried.record.closings, {
    maxTokens: tokens.closings,
    focus: span.run.focus,
  });
  return { ...carried, wordsTokens: Math.min(carried.wordsTokens, tokens.words), closings };
}

function statementParts(carried: CarryOver): Record<"words" | "closings", Part> {
  const { record } = carried;
  if (carried.wordsTokens === 0) return { words: { need: 0, share: 0 }, closings: { need: 0, share: 0 } };
  const closings = Math.min(CLOSINGS_TOKENS, closingsTokens(record.closings));
  return {
    words: { need: Math.min(carried.wordsTokens, wordsTokens(record.words)), share: SHARES.words },
    closings: { need: closings, share: SHARES.closings },
  };
}

/** Tokens of a digest besides this prose, the index of terms and the carried data, but without the user's words. */
function leftTokens(prose: string, carried: CarryOver, span: DigestedSpan): number {
  const { settings, budgets } = span.run;
  const { uses } = carried.record.terms;
  const indexTokens = uses.reduce((sum, { term }) => sum + estimateTokens(`, ${term}`), 0);
  const terms = Math.min(indexTokens, carriedTokens(span.plan, settings, budgets.windowTokens).terms);
  const text = summaryText(prose, { ...carried, wordsTokens: 0, extensions: {} });
  return Math.max(0, digestTokens(carried, span) - estimateTokens(text) - terms);
}
