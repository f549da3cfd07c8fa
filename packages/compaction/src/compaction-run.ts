import { addUsage, type Calibration, emptyUsage, type Usage } from "@bonsai-agent/messages";
import type { CompactionEntry, Entry, Session } from "@bonsai-agent/session";
import { aimsOf } from "./aims.ts";
import { type Budgets, budgetsFor, commandShareTokens } from "./budget.ts";
import { compactionHooks } from "./compaction-hooks.ts";
import type { RunCompactionOptions } from "./compaction-options.ts";
import { isJustCompacted, readContext } from "./context-meter.ts";
import { type ContextSize, contextSizeOf } from "./context-size.ts";
import { type ContextView, viewOf, viewTokens } from "./context-view.ts";
import { digestSummariser } from "./digest.ts";
import { sessionEstimate } from "./estimator.ts";
import { manifestOf } from "./manifest.ts";
import type { CompactionReason } from "./outcome.ts";
import { pinnedTexts } from "./pins.ts";
import type { PlanOptions } from "./plan.ts";
import { refusedTokens, sizesAfterRefusal } from "./refusal.ts";
import type { LadderContext, LadderState } from "./rung.ts";

/** One compaction under way: everything that is fixed when it begins, and what it costs. */
export interface Run {
  readonly session: Session;
  /** The path that is compacted ends here. */
  readonly leafId: string | null;
  readonly reason: CompactionReason;
  readonly start: LadderState;
  readonly context: LadderContext;
  readonly span: Omit<PlanOptions, "view">;
  /** The context before it, and what its tokens are of. */
  readonly size: ContextSize;
  /** System prompt and tools, as learned from usage, else by estimate. */
  readonly overheadTokens: number;
  readonly calibration: Calibration | undefined;
  readonly cost: { requests: number; usage: Usage | undefined };
}

export function prepareRun(options: RunCompactionOptions & { leafId?: string }): Run {
  const { session, reason = "manual", settings, model = {}, signal = new AbortController().signal } = options;
  const leafId = options.leafId ?? session.leafId;
  const estimate = sessionEstimate({ session, settings, leafId, fixedTexts: options.fixedTexts });
  const { overheadTokens, calibration } = estimate;
  const estimator = options.estimator ?? estimate.estimator;
  const projection = session.projection(leafId);
  const view = viewOf(projection, estimator);
  const start = startOf(view);
  const reading = readContext({ session, estimator, leafId, items: projection.items, overheadTokens });
  const refusal = reason === "overflow" ? (options.refusal ?? {}) : undefined;
  const sizes = refusal === undefined ? model : sizesAfterRefusal(model, refusal, reading);
  const budgets = budgetsFor({ settings, model: sizes, reason: options.isMidTask ? "threshold" : reason });
  const messages = view.items.map((item) => item.message);
  const { windowTokens } = budgets;
  const tokensBefore =
    refusal === undefined ? reading.tokens : refusedTokens({ messages, windowTokens, refusal, reading });
  const lowBy = tokensBefore / Math.max(1, reading.tokens);
  const size = contextSizeOf({ reading, estimatedTokens: start.tokens, totalTokens: tokensBefore });
  const cost: Run["cost"] = { requests: 0, usage: undefined };
  const aims = aimsOf({ reason, settings, budgets, model, refusal, reading, size });
  const keepTokens = keptTokens({ reason, budgets, ...aims }, { start, lowBy });
  const commandTokens = settings.mask.enabled ? commandShareTokens(keepTokens) : Number.POSITIVE_INFINITY;
  const context: LadderContext = {
    reason,
    settings,
    budgets,
    summariser: options.summariser,
    digest: options.digest ?? digestSummariser(),
    branchEntries: once(() => session.path(leafId)),
    tokensBefore,
    focus: options.focus,
    pinned: [...new Set([...pinnedTexts(session, leafId), ...(options.pinned ?? [])])],
    signal,
    ...aims,
    commandTokens,
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
    keepTokens,
    commandTokens,
    leastTokens: reason === "threshold" ? LEAST_SPAN_TOKENS : 0,
  };
  return { session, leafId, reason, start, context, span, size, overheadTokens, calibration, cost };
}

function startOf(view: ContextView): LadderState {
  const tokens = viewTokens(view.items);
  return { view, plan: undefined, summary: undefined, tokens, rung: undefined, failures: [] };
}

/** Headings and carry-over take so much by themselves. What an overflow or the user asks for is tried all the same. */
const LEAST_SPAN_TOKENS = 500;

/**
 * After an overflow something must go, even where by estimate everything would fit, and a summary needs room too: also
 * the former one is made anew then, which a model with a larger window may have written.
 */
function keptTokens(
  {
    reason,
    targetTokens = Number.POSITIVE_INFINITY,
    budgets,
  }: Pick<LadderContext, "reason" | "targetTokens" | "budgets">,
  { start, lowBy }: { start: LadderState; lowBy: number },
): number {
  if (reason !== "overflow") return budgets.keepTokens;
  const items = start.view.items.filter(({ message }) => message.role !== "compactionSummary");
  const half = Math.ceil(Math.min(viewTokens(items), Math.max(2, targetTokens)) / 2);
  return Math.min(Math.ceil(budgets.keepTokens / lowBy), half);
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
