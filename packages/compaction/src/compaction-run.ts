import { addUsage, type Calibration, emptyUsage, type Usage } from "@bonsai-agent/messages";
import type { CompactionEntry, Entry, Session } from "@bonsai-agent/session";
import { type Budgets, budgetsFor } from "./budget.ts";
import { compactionHooks } from "./compaction-hooks.ts";
import type { RunCompactionOptions } from "./compaction-options.ts";
import { isJustCompacted, readContext } from "./context-meter.ts";
import { viewOf, viewTokens } from "./context-view.ts";
import { digestSummariser } from "./digest.ts";
import { sessionEstimate } from "./estimator.ts";
import { manifestOf } from "./manifest.ts";
import type { CompactionReason } from "./outcome.ts";
import type { PlanOptions } from "./plan.ts";
import type { LadderContext, LadderState } from "./rung.ts";
import { thresholdTokens } from "./threshold.ts";

/** One compaction under way: everything that is fixed when it begins, and what it costs. */
export interface Run {
  readonly session: Session;
  /** The path that is compacted ends here. */
  readonly leafId: string | null;
  readonly reason: CompactionReason;
  readonly start: LadderState;
  readonly context: LadderContext;
  readonly span: Omit<PlanOptions, "view">;
  readonly tokensBefore: number;
  /** System prompt and tools, as learned from usage. */
  readonly overheadTokens: number;
  readonly calibration: Calibration | undefined;
  readonly cost: { requests: number; usage: Usage | undefined };
}

export function prepareRun(options: RunCompactionOptions & { leafId?: string }): Run {
  const { session, reason = "manual", settings, model = {}, signal = new AbortController().signal } = options;
  const leafId = options.leafId ?? session.leafId;
  const estimate = sessionEstimate({ session, settings, leafId });
  const { overheadTokens, calibration } = estimate;
  const estimator = options.estimator ?? estimate.estimator;
  const projection = session.projection(leafId);
  const view = viewOf(projection, estimator);
  const start: LadderState = {
    view,
    plan: undefined,
    summary: undefined,
    tokens: viewTokens(view.items),
    rung: undefined,
    failures: [],
  };
  const budgets = budgetsFor({ settings, model, reason });
  const reading = readContext({ session, estimator, leafId, items: projection.items, overheadTokens });
  const tokensBefore = tokensAtStart(reading.tokens, reason, budgets);
  const cost: Run["cost"] = { requests: 0, usage: undefined };
  const context: LadderContext = {
    reason,
    settings,
    budgets,
    summariser: options.summariser,
    digest: options.digest ?? digestSummariser(),
    branchEntries: once(() => session.path(leafId)),
    tokensBefore,
    focus: options.focus,
    pinned: options.pinned ?? [],
    signal,
    targetTokens: targetTokens({
      reason,
      limitTokens: thresholdTokens(settings, budgets),
      readTokens: reading.tokens,
      tokensBefore,
      estimatedTokens: start.tokens,
    }),
    onUsage: (usage) => {
      cost.requests += 1;
      if (usage !== undefined) cost.usage = addUsage(cost.usage ?? emptyUsage(), usage);
    },
    hooks: compactionHooks({ lifecycle: options.lifecycle, reason, signal }),
  };
  const span = {
    previous: projection.compaction,
    justCompacted: isJustCompacted(session, leafId),
    keepsLess: keepsLess(projection.compaction, budgets),
    keepTokens: keepTokens(reason, budgets, start),
  };
  return { session, leafId, reason, start, context, span, tokensBefore, overheadTokens, calibration, cost };
}

/** A provider that refused the request knows better than any count: the context is above the window. */
function tokensAtStart(tokens: number, reason: CompactionReason, { windowTokens }: Budgets): number {
  return reason === "overflow" && windowTokens !== undefined ? Math.max(tokens, windowTokens + 1) : tokens;
}

/**
 * The target in estimated tokens. What was read beyond the estimate (system prompt, tools) is taken to stay. Where an
 * overflow shows that the reading itself was too low, all of it is taken to be too low by the same factor.
 */
function targetTokens(of: {
  reason: CompactionReason;
  limitTokens: number | undefined;
  readTokens: number;
  tokensBefore: number;
  estimatedTokens: number;
}): number | undefined {
  const { reason, limitTokens, readTokens, tokensBefore, estimatedTokens } = of;
  if (reason === "manual" || limitTokens === undefined) return undefined;
  const factor = tokensBefore / Math.max(1, readTokens);
  return Math.floor(limitTokens / factor) - (readTokens - estimatedTokens);
}

/** After an overflow something must go, even where by estimate everything would fit. */
function keepTokens(reason: CompactionReason, budgets: Budgets, start: LadderState): number {
  return reason === "overflow"
    ? Math.min(budgets.keepTokens, Math.ceil(start.tokens / 2))
    : budgets.keepTokens;
}

/** Below this share of a former budget, a new one asks for more than that compaction did. */
const CLEARLY_LESS = 0.9;

/** True when less is to be kept than the budget of the latest compaction; false where that is not known. */
function keepsLess(compaction: CompactionEntry | undefined, { keepTokens }: Budgets): boolean {
  const formerTokens = manifestOf(compaction)?.settings?.keepTokens;
  return typeof formerTokens === "number" && keepTokens < formerTokens * CLEARLY_LESS;
}

/** A long session's path is read for whoever asks for it, and once. */
function once(read: () => readonly Entry[]): () => readonly Entry[] {
  let entries: readonly Entry[] | undefined;
  return () => {
    entries ??= read();
    return entries;
  };
}
