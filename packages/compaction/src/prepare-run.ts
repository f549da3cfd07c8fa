import {
  addUsage,
  type Calibration,
  type ContextTokens,
  emptyUsage,
  type TokenEstimator,
  type Usage,
} from "@bonsai-agent/messages";
import type { CompactionEntry, Entry, Session } from "@bonsai-agent/session";
import {
  type Budgets,
  budgetsFor,
  commandShareTokens,
  limitAfterRefusal,
  type ModelSizes,
  type Refusal,
  refusedTokens,
  sizesAfterRefusal,
  thresholdTokens,
} from "./budget.ts";
import { pinnedTexts } from "./carry-over.ts";
import { digestSummariser } from "./digest.ts";
import type { CompactionLifecycle } from "./events.ts";
import { manifestOf } from "./manifest.ts";
import type { CompactionReason } from "./outcome.ts";
import type { PlanOptions } from "./plan.ts";
import { compactionHooks, type LadderContext, type LadderState } from "./rung.ts";
import type { CompactionSettings } from "./settings.ts";
import type { Summariser } from "./summariser.ts";
import { isJustCompacted, readContext, sessionEstimate } from "./tokens.ts";
import { type ContextSize, type ContextView, contextSizeOf, viewOf, viewTokens } from "./view.ts";

/** What is compacted, how, and by whom. */
export interface RunCompactionOptions {
  session: Session;
  /** Default "manual". */
  reason?: CompactionReason;
  settings: CompactionSettings;
  /** The session's model; without a window, budgets are not scaled and nothing but a summary is the goal. */
  model?: ModelSizes;
  /** For the reason "overflow": what the provider told. Default: nothing. */
  refusal?: Refusal;
  /** The model that summarises; without one, the digest does. */
  summariser?: Summariser;
  /** Default: the built-in digest. */
  digest?: Summariser;
  /** Default: as the settings say. */
  estimator?: TokenEstimator;
  /** What the summary should dwell on. */
  focus?: string;
  /**
   * True while a task goes on: as much is kept as by threshold, whatever `manualKeep` says, for the model has not seen
   * the newest results yet. Default false.
   */
  isMidTask?: boolean;
  /** What every request holds beside its messages, system prompt and tools: counted until usage has taught how much that is. */
  fixedTexts?: (() => readonly string[]) | undefined;
  /** Texts to carry through this and all later compactions. */
  pinned?: readonly string[];
  lifecycle?: CompactionLifecycle;
  signal?: AbortSignal;
  /** Called when everything is written, before the after-events: releases whatever lock the caller holds. */
  onCommitted?: () => void;
}

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

interface AimOptions {
  reason: CompactionReason;
  settings: CompactionSettings;
  budgets: Budgets;
  model: ModelSizes;
  refusal: Refusal | undefined;
  reading: ContextTokens;
  size: ContextSize;
}

/** What a request may take of a window, for an answer needs room and an estimate errs. */
const USABLE_SHARE = 0.8;

/**
 * A request whose estimate is so many times the window is not sent: estimates err by a tenth on paths and values, seldom
 * by more upwards, and a server that cuts in silence would lose the beginning of it.
 */
const FAR_ABOVE = 1.1;

/** The most tokens of a request that is sent. */
export function sendableTokens(windowTokens: number): number {
  return Math.floor(windowTokens * FAR_ABOVE);
}

/** Where a compaction wants to come down to. */
function aimsOf(options: AimOptions): Pick<LadderContext, "targetTokens" | "mostTokens" | "sendableTokens"> {
  const { windowTokens } = options.budgets;
  const limit = options.reason === "manual" ? undefined : limitTokens(options);
  const usable = windowTokens && Math.floor(windowTokens * USABLE_SHARE);
  return {
    targetTokens: inEstimates(limit, options),
    mostTokens: inEstimates(usable, options),
    sendableTokens: inEstimates(windowTokens && sendableTokens(windowTokens), options),
  };
}

/** The most tokens that the context may hold afterwards. */
function limitTokens({ settings, budgets, model, refusal, reading }: AimOptions): number | undefined {
  const limit = thresholdTokens(settings, budgets);
  const { windowTokens } = budgets;
  if (refusal === undefined || limit === undefined || windowTokens === undefined) return limit;
  const isWindowKnown = (model.contextWindow ?? 0) > 0;
  return limitAfterRefusal({ limitTokens: limit, windowTokens, isWindowKnown, refusal, reading });
}

/** In estimated tokens of the messages. */
function inEstimates(tokens: number | undefined, { size }: AimOptions): number | undefined {
  return tokens === undefined ? undefined : size.estimateWithin(tokens);
}
