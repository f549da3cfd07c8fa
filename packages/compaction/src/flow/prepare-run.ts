import { addUsage, emptyUsage, type TokenEstimator } from "@bonsai-agent/messages";
import type { CompactionEntry, Session } from "@bonsai-agent/session";
import { type CompactionReason, manifestOf } from "../carry/details.ts";
import { pinnedTexts } from "../carry/pins.ts";
import type { CompactionLifecycle } from "../events.ts";
import type { LadderState, Run } from "../ladder/ladder.ts";
import {
  believedRefusal,
  limitAfterRefusal,
  type Refusal,
  refusedTokens,
  sizesAfterRefusal,
} from "../ladder/refusal.ts";
import {
  aimsOf,
  type Budgets,
  budgetsFor,
  commandShareTokens,
  type ModelSizes,
  thresholdTokens,
} from "../plan/budget.ts";
import { checkChosenCut } from "../plan/chosen-cut.ts";
import { contextLimit } from "../plan/economy.ts";
import { readOriginals } from "../plan/originals.ts";
import { type ContextReading, readContext } from "../plan/tokens.ts";
import { besideSummary, type ContextView, contextSizeOf, viewOf, viewTokens } from "../plan/view.ts";
import type { CompactionSettings } from "../settings.ts";
import { digestSummariser, type Summariser } from "../summariser.ts";
import type { ReviewCompaction } from "./draft.ts";

/** What is compacted, how, and by whom. */
export interface RunCompactionOptions {
  /** Its path to the leaf is compacted. */
  session: Session;
  /** Default "manual". */
  reason?: CompactionReason | undefined;
  /** As `compactionSettings` gives them. */
  settings: CompactionSettings;
  /** The session's model; without a window, budgets are not scaled and nothing but a summary is the goal. */
  model?: ModelSizes | undefined;
  /** The model that summarises; without one, the digest does. */
  summariser?: Summariser | undefined;
  /** Default: the built-in digest. */
  digest?: Summariser | undefined;
  /** Default: as the settings say. */
  estimator?: TokenEstimator | undefined;
  /** What the summary should dwell on. */
  focus?: string | undefined;
  /** What every request holds beside its messages, system prompt and tools: counted until usage has taught how much that is. */
  fixedTexts?: (() => readonly string[]) | undefined;
  /**
   * The cut: with this entry the kept part begins. Default: where the budgets say. `cutPlaces` lists what is legal; all else
   * is refused with `cut_not_allowed`.
   */
  firstKeptEntryId?: string | undefined;
  /**
   * The latest compaction is made anew, from what it was made of and not from its summary, with the same cut unless another
   * is given. Where there is none, that fails with `nothing_to_make_anew`. Default false.
   */
  isAgain?: boolean | undefined;
  /** Texts to carry through this and all later compactions. */
  pinned?: readonly string[] | undefined;
  /** Shown what would be written, where `settings.confirm` says so. Default: nobody is, whatever the settings say. */
  review?: ReviewCompaction | undefined;
  /** Default: nobody is asked and notified. */
  lifecycle?: CompactionLifecycle | undefined;
  /** Cancels it. Default: nothing does. */
  signal?: AbortSignal | undefined;
}

/** A compaction as the controller, and a plan, asks for it. */
export interface CompactionRequest extends RunCompactionOptions {
  /** Where the path ends that is compacted. Default: the session's leaf. */
  leafId?: string | undefined;
  /** For the reason "overflow": what the provider reported. Default: nothing. */
  refusal?: Refusal | undefined;
  /**
   * True while a task goes on: as much is kept as by threshold, whatever `manualKeep` says, for the model has not seen
   * the newest results yet. Default false.
   */
  isMidTask?: boolean | undefined;
  /** True for a snapshot's, while the agent works on. Default false. */
  isBackground?: boolean | undefined;
  /** Why no summariser is given although a model could be asked, in a sentence for people. */
  whyUnasked?: string | undefined;
  /** The time, in milliseconds since the epoch, by which a provider's cache has expired. Default: it has not. */
  nowMs?: number | undefined;
  /** True where `auto_compaction_start` was sent already. Default false. */
  isTold?: boolean | undefined;
  /** What was read to decide on it. Default: it is read when the run begins. */
  decision?: Decision | undefined;
  /** Called when everything is written, before the after-events: releases whatever lock the caller holds. */
  onCommitted?: (() => void) | undefined;
}

/** What the context holds, and what it may hold: read once, for whoever decides on a compaction and for its run. */
export interface Decision {
  readonly reading: ContextReading;
  /** Scaled to the model's window; after a refusal, to the window that it showed. */
  readonly budgets: Budgets;
  /** The most tokens that the context may hold; undefined for an unknown window, and where a summary is the goal itself. */
  readonly limitTokens: number | undefined;
  /**
   * The most that it may hold whatever is lost by that: above the limit where the economy alone has lowered it. Undefined
   * as the limit.
   */
  readonly neededTokens: number | undefined;
  /** True where the limit is lower just now, for the next request pays for all of its prefix anyway. */
  readonly isExpired?: boolean;
  /** By the reading; more where a refusal showed that it was too low. */
  readonly total: { tokens: number; estimatedTokens: number; isCounted?: boolean };
}

export function decisionOf(request: CompactionRequest, reading = readContext(request)): Decision {
  const { reason = "manual", settings, model = {}, isMidTask = false } = request;
  if (reason !== "overflow") {
    const budgets = budgetsFor({ settings, model, reason: isMidTask ? "threshold" : reason });
    const isModelAsked = request.summariser !== undefined;
    const limits =
      reason === "manual"
        ? undefined
        : contextLimit({ settings, model, budgets, reading, isModelAsked, nowMs: request.nowMs });
    const { limitTokens, thresholdTokens: neededTokens } = limits ?? {};
    const isExpired = limits?.isExpired ?? false;
    return { reading, budgets, limitTokens, neededTokens, isExpired, total: readTotal(reading) };
  }
  const refusal = believedRefusal(request.refusal ?? {}, reading);
  const budgets = budgetsFor({ settings, model: sizesAfterRefusal(model, refusal, reading), reason });
  const threshold = thresholdTokens(settings, budgets);
  const limitTokens = limitAfterRefusal({ thresholdTokens: threshold, budgets, model, refusal, reading });
  return {
    reading,
    budgets,
    limitTokens,
    neededTokens: limitTokens,
    total: refusedTotal(refusal, reading, budgets.windowTokens),
  };
}

function readTotal({ tokens, trailingTokens }: ContextReading): Decision["total"] {
  return { tokens, estimatedTokens: trailingTokens };
}

/** A believable count of the refusal is reported as much as a usage is; a size that is only known to be too much is an estimate. */
function refusedTotal(
  refusal: Refusal,
  reading: ContextReading,
  windowTokens: number | undefined,
): Decision["total"] {
  const tokens = refusedTokens(refusal, reading, windowTokens);
  if (tokens === refusal.inputTokens)
    return { tokens, estimatedTokens: 0, isCounted: reading.source === "usage" };
  return tokens === reading.tokens ? readTotal(reading) : { tokens, estimatedTokens: tokens };
}

/** @throws BonsaiError `cut_not_allowed`, `nothing_to_make_anew`, and whatever reading the session throws */
export function prepareRun(request: CompactionRequest): Run {
  const { session, reason = "manual", settings, signal = new AbortController().signal } = request;
  const originals = request.isAgain ? readOriginals(request) : undefined;
  const decision = originals ? decisionOf(request, originals.reading) : currentDecision(request);
  const { reading, budgets, total } = decision;
  const { leafId, projection } = reading;
  const { compaction: previous } = projection;
  const start = startOf(originals?.view ?? viewOf(projection, reading.estimator));
  const cutId = request.firstKeptEntryId;
  if (cutId !== undefined) checkChosenCut({ session, leafId, items: besideSummary(start.view.items) }, cutId);
  const refusedSize = contextSizeOf({ reading, estimatedTokens: start.tokens, total });
  const aims = aimsOf(refusedSize, { ...budgets, ...decision });
  const lowBy = total.tokens / Math.max(1, reading.tokens);
  const keepTokens =
    reason === "overflow"
      ? keptAfterOverflow(start, aims.targetTokens, budgets.keepTokens / lowBy)
      : budgets.keepTokens;
  const cost: Run["cost"] = { requests: 0, usage: undefined };
  return {
    session,
    leafId,
    reason,
    isBackground: request.isBackground,
    isEconomic: reason === "threshold" && isBelowThreshold(decision),
    settings,
    budgets,
    // A count that no usage supports is an aim. It is neither reported nor stored.
    size: total.isCounted ? refusedSize : contextSizeOf({ reading, estimatedTokens: start.tokens }),
    ...aims,
    overheadTokens: reading.overheadTokens(),
    calibration: reading.calibration(),
    start,
    former: originals?.former,
    span: {
      previous,
      justCompacted: isJustCompacted(session, reading),
      keepsLess: keepsLess(previous, budgets),
      keepTokens,
      commandTokens: settings.mask.enabled ? commandShareTokens(keepTokens) : Number.POSITIVE_INFINITY,
      firstKeptEntryId: cutId ?? originals?.firstKeptEntryId,
      leastTokens: reason === "threshold" ? LEAST_SPAN_TOKENS : 0,
    },
    summariser: request.summariser,
    whyUnasked: request.whyUnasked,
    digest: request.digest ?? digestSummariser(),
    focus: request.focus,
    pinned: [...new Set([...pinnedTexts(session, leafId), ...(request.pinned ?? [])])],
    lifecycle: request.lifecycle,
    signal,
    onUsage: (usage) => {
      cost.requests += 1;
      if (usage !== undefined) cost.usage = addUsage(cost.usage ?? emptyUsage(), usage);
    },
    cost,
  };
}

function isBelowThreshold({ neededTokens, limitTokens, total }: Decision): boolean {
  return neededTokens !== undefined && limitTokens !== neededTokens && total.tokens <= neededTokens;
}

/** The decision as it was handed down, unless a handler of the start event has changed the session since. */
function currentDecision(request: CompactionRequest): Decision {
  const { session, decision } = request;
  const isCurrent =
    decision?.reading.leafId === session.leafId &&
    decision.reading.projection.items === session.projection().items;
  return isCurrent ? decision : decisionOf(request);
}

function startOf(view: ContextView): LadderState {
  const tokens = viewTokens(view.items);
  return { view, plan: undefined, summary: undefined, tokens, rung: undefined, failures: [] };
}

/** Headings and carry-over take so much by themselves. What an overflow or the user asks for is tried all the same. */
const LEAST_SPAN_TOKENS = 500;

/**
 * After an overflow something must go, even where by estimate everything would fit, and a summary needs some of it too:
 * also the former one is made anew then, which a model with a larger window may have written.
 */
function keptAfterOverflow(
  { view }: LadderState,
  targetTokens = Number.POSITIVE_INFINITY,
  keepTokens: number,
): number {
  const tokens = viewTokens(besideSummary(view.items));
  const half = Math.ceil(Math.min(tokens, Math.max(2, targetTokens)) / 2);
  return Math.min(Math.ceil(keepTokens), half);
}

/** True when nothing that the model sees came after the live compaction. */
function isJustCompacted(session: Session, { leafId, projection }: ContextReading): boolean {
  const { items, compaction } = projection;
  if (compaction === undefined) return false;
  const visible = new Set(items.map((item) => item.entryId));
  for (const { id } of session.tail(leafId, projection)) {
    if (visible.has(id)) return id === compaction.id;
  }
  return false;
}

/** Below this share of a former budget, a new one asks for more than that compaction did. */
const CLEARLY_LESS = 0.9;

/** True when less is to be kept than the budget of the latest compaction; false where that is not known. */
function keepsLess(compaction: CompactionEntry | undefined, { keepTokens }: Budgets): boolean {
  const formerTokens = manifestOf(compaction)?.settings?.keepTokens;
  return typeof formerTokens === "number" && keepTokens < formerTokens * CLEARLY_LESS;
}
