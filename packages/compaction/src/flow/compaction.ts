import type { TokenEstimator } from "@bonsai-agent/messages";
import type { CompactionEntry, Session } from "@bonsai-agent/session";
import { pinnedTexts } from "../carry/pins.ts";
import { sessionSecrets } from "../carry/record.ts";
import { type CompactionReason, manifestOf } from "../details.ts";
import type { CompactionLifecycle } from "../events.ts";
import { RunCost } from "../ladder/ask.ts";
import { builtInDigest } from "../ladder/digest-summariser.ts";
import {
  climb,
  isReached,
  ladderRungs,
  maskedState,
  masksFor,
  masksSuffice,
  plannedState,
} from "../ladder/ladder.ts";
import { type ClimbResult, CompactionCancelled, type LadderState, type Run } from "../ladder/run.ts";
import { layDraft } from "../ladder/summary-rungs.ts";
import { type ContextReading, readContext } from "../plan/context.ts";
import { checkChosenCut, formerCut, planSpan } from "../plan/cut.ts";
import {
  type Budgets,
  commandShareTokens,
  type Decision,
  type DecisionOptions,
  decide,
  type Goals,
  goalsFor,
  type ModelSizes,
} from "../plan/limits.ts";
import { readOriginals } from "../plan/originals.ts";
import {
  beginsWith,
  type ContextView,
  contextSizeOf,
  roleTraits,
  viewOf,
  viewTokens,
  withoutSummary,
} from "../plan/view.ts";
import { askedSummariser, type CompactionSettings } from "../settings.ts";
import type { Summariser } from "../summariser.ts";
import { commit, notifyEnd } from "./commit.ts";
import { type PlannedSummariser, plannedResult } from "./dry-run.ts";
import { type CompactionResult, failedResult, resultOf, unpreparedResult } from "./result.ts";
import { type ReviewCompaction, reviewedClimb } from "./review.ts";

/** Options of one compaction. */
export interface RunCompactionOptions {
  /** The compaction changes the path to its leaf. */
  session: Session;
  /** Default: "manual". */
  reason?: CompactionReason | undefined;
  /** Made by `compactionSettings`. */
  settings: CompactionSettings;
  /** The session's model. Without a window, budgets are not scaled, and the only goal is a summary. */
  model?: ModelSizes | undefined;
  /** The model that summarises. Default: the digest alone. */
  summariser?: Summariser | undefined;
  /** Default: the built-in digest. */
  digest?: Summariser | undefined;
  /** Default: the estimator that the settings name. */
  estimator?: TokenEstimator | undefined;
  /** Topics that the summary must emphasise. */
  focus?: string | undefined;
  /** Texts beside the messages in every request: system prompt and tools. Their size is estimated until usage shows it. */
  fixedTexts?: (() => readonly string[]) | undefined;
  /** The first kept entry, one of `cutPlaces`; others are refused with `cut_not_allowed`. Default: by the budgets. */
  firstKeptEntryId?: string | undefined;
  /**
   * Repeats the latest compaction from its original entries, with the same cut unless another is given. Fails with
   * `nothing_to_make_anew` if there is none. Default: false.
   */
  replacesLatest?: boolean | undefined;
  /** Texts to carry through this and all later compactions. */
  pinned?: readonly string[] | undefined;
  /** Reviews the compaction before it is written, if `settings.confirm` asks for it. Default: no review. */
  review?: ReviewCompaction | undefined;
  /** Receives the events. Default: no events. */
  lifecycle?: CompactionLifecycle | undefined;
  /** Cancels the compaction. */
  signal?: AbortSignal | undefined;
}

/** Adds the options that only the controller, a plan and the background set. */
export interface CompactionRequest
  extends RunCompactionOptions,
    Pick<DecisionOptions, "refusal" | "isMidTask" | "nowMs"> {
  /** The end of the path. Default: the session's leaf. */
  leafId?: string | undefined;
  /** True for a draft of a snapshot, made while the agent works. Default: false. */
  isBackground?: boolean | undefined;
  /** A sentence for the user: why the request has no summariser although a model is available. */
  skippedModelReason?: string | undefined;
  /** True if the provider's compaction has just failed. Default: false. */
  skipsProvider?: boolean | undefined;
  /** True if `auto_compaction_start` was sent. Default: false. */
  startNotified?: boolean | undefined;
  /** A lower limit than the decision's: the size at which a background draft begins. */
  beginTokens?: number | undefined;
  /** A draft made in the background, to commit if the context still begins with its snapshot. */
  earlier?: ClimbResult | undefined;
  /** Called after the write and before the after-events, to release a lock. */
  onCommitted?: (() => void) | undefined;
}

/**
 * Compacts the session's path: mask, plan, ask the extensions, summarise, write, notify. Never throws: every ending is
 * a status. A cancelled or failed run leaves the session file as it was. A successful one writes edits and compaction
 * entry in one append.
 */
export const runCompaction: (options: RunCompactionOptions) => Promise<CompactionResult> = compact;

/** The one compaction flow, for every reason: draft, commit, notify. */
export async function compact(request: CompactionRequest): Promise<CompactionResult> {
  const { reason = "manual", lifecycle, startNotified } = request;
  if (!startNotified) await notifyStart(reason, lifecycle);
  const result = await attempt(request);
  try {
    request.onCommitted?.();
  } finally {
    await notifyEnd(result, lifecycle);
  }
  return result;
}

export async function notifyStart(reason: CompactionReason, lifecycle?: CompactionLifecycle): Promise<void> {
  await lifecycle?.notify("auto_compaction_start", { type: "auto_compaction_start", reason });
}

async function attempt(request: CompactionRequest): Promise<CompactionResult> {
  let run: Run;
  try {
    run = prepareRun(request);
  } catch (error) {
    return unpreparedResult(request.reason ?? "manual", error);
  }
  try {
    const reached = await climbFor(run, request);
    if (run.signal.aborted) throw new CompactionCancelled("");
    return commit(reached);
  } catch (error) {
    return failedResult(run, run.start, error);
  }
}

/** Climbs as the request says: from an earlier draft, with a review, or straight up. */
async function climbFor(run: Run, { earlier, review }: CompactionRequest): Promise<ClimbResult> {
  if (review !== undefined && earlier === undefined && isReviewed(run.settings, run.reason))
    return reviewedClimb(run, review);
  return { run, state: await climb(run, ladderRungs, earlier && layAgain(run, earlier)) };
}

/** True if a compaction of this reason is shown before it is written, provided that there is a reviewer. */
export function isReviewed({ confirm }: CompactionSettings, reason: CompactionReason): boolean {
  return confirm === "always" || (confirm === "manual" && reason === "manual");
}

/** A draft of a snapshot, made while the agent works. */
export interface DraftAhead extends ClimbResult {
  /** Set if there is no summary. */
  failure?: CompactionResult;
}

/**
 * Begins the draft of the context as it is. Undefined if masks would suffice, which take no time, or if there is nothing
 * to summarise.
 */
export function draftAhead(request: CompactionRequest): Promise<DraftAhead> | undefined {
  try {
    const run = prepareRun({ ...request, isBackground: true });
    const { span, start } = run;
    const isNeeded =
      masksFor(start, run).length === 0 && planSpan({ ...span, ...start }).status === "planned";
    return isNeeded ? climbAhead(run) : undefined;
  } catch {
    // The compaction that is due later fails with the same error and reports it.
    return undefined;
  }
}

async function climbAhead(run: Run): Promise<DraftAhead> {
  try {
    const state = await climb(run, ladderRungs);
    if (run.signal.aborted) throw new CompactionCancelled("");
    return { run, state, ...(state.summary === undefined && { failure: failedResult(run, state) }) };
  } catch (error) {
    return { run, state: run.start, failure: failedResult(run, run.start, error) };
  }
}

/**
 * Lays an earlier draft on the context as it is now: everything that came since is kept.
 * @throws CompactionCancelled if the draft is outdated: handlers of the start event can change the session
 */
function layAgain(run: Run, earlier: ClimbResult): LadderState {
  const { summary, carryOver, failures } = earlier.state;
  if (summary === undefined || !isCurrent(earlier, run.pinned))
    throw new CompactionCancelled("The session moved to another branch in the meantime.");
  const { draft } = summary;
  const later = run.start.view.items[earlier.run.start.view.items.length];
  const firstKeptEntryId = draft.firstKeptEntryId ?? later?.entryId ?? null;
  const planned = plannedState(
    { ...run.start, carryOver, failures },
    { ...run, span: { ...run.span, firstKeptEntryId } },
  );
  return layDraft(planned, { ...draft, firstKeptEntryId }, run);
}

interface PlanCompactionOptions
  extends Omit<RunCompactionOptions, "digest" | "lifecycle" | "review" | "signal" | "summariser"> {
  /** The end of the planned path. Default: the session's leaf. */
  leafId?: string;
  /** A summariser, to get the planned requests in the result. */
  summariser?: PlannedSummariser;
}

/**
 * Plans the masks, cut and spans of `runCompaction`. Asks no model and no extension, and writes nothing. `tokensAfter`
 * assumes a summary of the usual size.
 * @throws BonsaiError `cut_not_allowed`, `nothing_to_make_anew`, and the errors of reading the session
 */
export function planCompaction({ summariser, ...asked }: PlanCompactionOptions): CompactionResult {
  const run = prepareRun(asked);
  const masked = maskedState(run.start, run);
  const state = isReached(masked, run.goalTokens) ? masked : plannedState(masked, run);
  const { plan } = state;
  if (plan === undefined || masksSuffice(run, state)) return resultOf(run, state, "planned");
  if (plan.status !== "planned") return resultOf(run, state, plan.status);
  return plannedResult(run, state, summariser);
}

/** @throws BonsaiError `cut_not_allowed`, `nothing_to_make_anew`, and the errors of reading the session */
function prepareRun(request: CompactionRequest): Run {
  const { session, settings, reason = "manual", model, earlier, focus, signal } = request;
  const { digest = builtInDigest, skippedModelReason, skipsProvider, lifecycle } = request;
  const summariser = askedSummariser(request);
  const { fixedTexts, leafId: endId, isMidTask, refusal, nowMs } = request;
  const estimator = request.estimator ?? settings.estimator;
  const context = { session, leafId: endId, fixedTexts, model, estimator };
  const originals = request.replacesLatest ? readOriginals(context) : undefined;
  const reading = originals?.reading ?? readContext(context);
  const isModelAsked = summariser !== undefined;
  const decision = decide(reading, { reason, settings, model, isModelAsked, isMidTask, refusal, nowMs });
  const { leafId, projection } = reading;
  const start = startOf(originals?.view ?? viewOf(projection, reading.estimator));
  const sizes = sizesOf(start, decision, request);
  const secrets = sessionSecrets(session, leafId);
  return {
    session,
    leafId,
    reason,
    isBackground: request.isBackground ?? earlier !== undefined,
    settings,
    budgets: decision.budgets,
    reading,
    ...sizes,
    start,
    former: originals?.former,
    span: spanOf(start, decision, request, { goalTokens: sizes.goalTokens, originals: originals?.view }),
    summariser,
    skippedModelReason,
    skipsProvider,
    digest,
    focus,
    recordSource: { session, leafId, secrets, wordsTokens: settings.words.maxTokens },
    pinned: pinnedAt(session, leafId, request.pinned),
    lifecycle,
    signal: signal ?? new AbortController().signal,
    cost: earlier?.run.cost ?? new RunCost(),
  };
}

function sizesOf(
  { tokens: estimatedTokens }: LadderState,
  { reading, budgets, total, ...decision }: Decision,
  { reason, beginTokens }: CompactionRequest,
): Pick<Run, "size" | "isEconomic" | keyof Goals> {
  const { thresholdTokens } = decision;
  const refusedSize = contextSizeOf({ reading, estimatedTokens, total });
  const limits = { compactAboveTokens: beginTokens ?? decision.compactAboveTokens, thresholdTokens };
  const isLowered = thresholdTokens !== undefined && limits.compactAboveTokens !== thresholdTokens;
  return {
    // Without usage, a refused size is a goal only: it is neither reported nor stored.
    size: total.isCounted ? refusedSize : contextSizeOf({ reading, estimatedTokens }),
    ...goalsFor(refusedSize, { ...budgets, ...limits }),
    isEconomic: reason === "threshold" && isLowered && total.tokens <= thresholdTokens,
  };
}

function spanOf(
  start: LadderState,
  { reading, budgets, total }: Decision,
  { session, settings, reason, firstKeptEntryId: cutId }: CompactionRequest,
  { goalTokens, originals }: { goalTokens: number | undefined; originals: ContextView | undefined },
): Run["span"] {
  const { leafId, projection } = reading;
  if (cutId !== undefined)
    checkChosenCut({ session, leafId, items: withoutSummary(start.view.items) }, cutId);
  const underestimate = total.tokens / Math.max(1, reading.tokens);
  const keepTokens =
    reason === "overflow"
      ? keptAfterOverflow(start, goalTokens, budgets.keepTokens / underestimate)
      : budgets.keepTokens;
  return {
    previous: projection.compaction,
    justCompacted: isJustCompacted(session, reading),
    keepsLess: keepsLess(projection.compaction, budgets),
    keepTokens,
    commandTokens: settings.mask.enabled ? commandShareTokens(keepTokens) : Number.POSITIVE_INFINITY,
    firstKeptEntryId: cutId ?? (originals && formerCut(session, leafId, originals)),
    minTokens: reason === "threshold" ? MIN_SPAN_TOKENS : 0,
  };
}

function pinnedAt(session: Session, leafId: string | null, pinned: readonly string[] = []): string[] {
  return [...new Set([...pinnedTexts(session, leafId), ...pinned])];
}

/** True if the context still begins with the draft's snapshot, unedited, and the pins are the same. */
export function isCurrent({ run, state }: ClimbResult, asked: readonly string[] | undefined): boolean {
  const { items, compaction } = run.session.projection();
  if (compaction?.id !== run.span.previous?.id || !beginsWith(items, run.start.view)) return false;
  const pinned = new Set(pinnedAt(run.session, run.session.leafId, asked));
  if (pinned.size !== run.pinned.length || run.pinned.some((text) => !pinned.has(text))) return false;
  // A summary that kept nothing keeps the messages that came later.
  const later = items[run.start.view.items.length];
  const keepsNothing = state.summary?.draft.firstKeptEntryId === null;
  return later === undefined || !keepsNothing || roleTraits(later.message).mayStartKept === true;
}

function startOf(view: ContextView): LadderState {
  const tokens = viewTokens(view.items);
  return { view, plan: undefined, summary: undefined, tokens, rung: undefined, failures: [] };
}

/** Headings and carried data alone take as much. Compactions by overflow or by the user are tried in any case. */
const MIN_SPAN_TOKENS = 500;

/**
 * After an overflow something must go, even if everything fits by estimate. The former summary is summarised again, too: a
 * model with a larger window may have written it.
 */
function keptAfterOverflow(
  { view }: LadderState,
  goalTokens = Number.POSITIVE_INFINITY,
  keepTokens: number,
): number {
  const tokens = viewTokens(withoutSummary(view.items));
  const half = Math.ceil(Math.min(tokens, Math.max(2, goalTokens)) / 2);
  return Math.min(Math.ceil(keepTokens), half);
}

/** True if the model sees nothing that is newer than the latest compaction. */
function isJustCompacted(session: Session, { leafId, projection }: ContextReading): boolean {
  const { items, compaction } = projection;
  if (compaction === undefined) return false;
  const visible = new Set(items.map((item) => item.entryId));
  for (const { id } of session.tail(leafId, projection)) {
    if (visible.has(id)) return id === compaction.id;
  }
  return false;
}

/** A budget below this share of the former one keeps less. */
const CLEARLY_LESS = 0.9;

/** True if the budget is smaller than that of the latest compaction; false if that is unknown. */
function keepsLess(compaction: CompactionEntry | undefined, { keepTokens }: Budgets): boolean {
  const formerTokens = manifestOf(compaction)?.settings?.keepTokens;
  return formerTokens !== undefined && keepTokens < formerTokens * CLEARLY_LESS;
}
