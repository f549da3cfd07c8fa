import type { TokenEstimator } from "@bonsai-agent/messages";
import type { CompactionEntry, ProjectionItem, Session } from "@bonsai-agent/session";
import { pinnedTexts } from "../carry/pins.ts";
import { sessionSecrets } from "../carry/span-record.ts";
import { type CompactionReason, manifestOf } from "../details.ts";
import type { CompactionLifecycle } from "../events.ts";
import { type ClimbResult, type LadderState, type Run, RunCost } from "../ladder/run.ts";
import { checkChosenCut } from "../plan/chosen-cut.ts";
import { type Decision, decide } from "../plan/decision.ts";
import { type Budgets, commandShareTokens, type ModelSizes, type Refusal } from "../plan/limits.ts";
import { readOriginals } from "../plan/originals.ts";
import { contextSizeOf, goalsFor } from "../plan/sizes.ts";
import type { ContextReading } from "../plan/tokens.ts";
import { type ContextView, roleTraits, viewOf, viewTokens, withoutSummary } from "../plan/view.ts";
import type { CompactionSettings } from "../settings.ts";
import { digestSummariser, type Summariser } from "../summariser.ts";
import type { ReviewCompaction } from "./draft.ts";

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
  isAgain?: boolean | undefined;
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
export interface CompactionRequest extends RunCompactionOptions {
  /** The end of the path. Default: the session's leaf. */
  leafId?: string | undefined;
  /** For the reason "overflow": the numbers that the provider reported. */
  refusal?: Refusal | undefined;
  /**
   * True inside a task. The compaction then keeps as much as one by threshold, because the model has not seen the newest
   * results. Default: false.
   */
  isMidTask?: boolean | undefined;
  /** True for a draft of a snapshot, made while the agent works. Default: false. */
  isBackground?: boolean | undefined;
  /** A sentence for the user: why the request has no summariser although a model is available. */
  skippedModelReason?: string | undefined;
  /** Now, in milliseconds since the epoch, to detect an expired cache. Default: the cache is kept. */
  nowMs?: number | undefined;
  /** True if `auto_compaction_start` was sent. Default: false. */
  startNotified?: boolean | undefined;
  /** The decision that led to the request. Default: the run makes its own. */
  decision?: Decision | undefined;
  /** A draft made in the background, to commit if the context still begins with its snapshot. */
  earlier?: ClimbResult | undefined;
  /** Called after the write and before the after-events, to release a lock. */
  onCommitted?: (() => void) | undefined;
}

/** @throws BonsaiError `cut_not_allowed`, `nothing_to_make_anew`, and the errors of reading the session */
export function prepareRun(request: CompactionRequest): Run {
  const { session, reason = "manual", settings, earlier } = request;
  const originals = request.isAgain ? readOriginals(request) : undefined;
  const decision = originals ? decide(request, originals.reading) : currentDecision(request);
  const { reading, budgets, total } = decision;
  const { leafId, projection } = reading;
  const start = startOf(originals?.view ?? viewOf(projection, reading.estimator));
  const refusedSize = contextSizeOf({ reading, estimatedTokens: start.tokens, total });
  const goals = goalsFor(refusedSize, { ...budgets, ...decision });
  const underestimate = total.tokens / Math.max(1, reading.tokens);
  const keepTokens =
    reason === "overflow"
      ? keptAfterOverflow(start, goals.goalTokens, budgets.keepTokens / underestimate)
      : budgets.keepTokens;
  const cutId = request.firstKeptEntryId;
  if (cutId !== undefined)
    checkChosenCut({ session, leafId, items: withoutSummary(start.view.items) }, cutId);
  return {
    session,
    leafId,
    reason,
    isBackground: request.isBackground ?? earlier !== undefined,
    isEconomic: reason === "threshold" && isBelowThreshold(decision),
    settings,
    budgets,
    reading,
    // Without usage, a refused size is a goal only: it is neither reported nor stored.
    size: total.isCounted ? refusedSize : contextSizeOf({ reading, estimatedTokens: start.tokens }),
    ...goals,
    start,
    former: originals?.former,
    span: {
      previous: projection.compaction,
      justCompacted: isJustCompacted(session, reading),
      keepsLess: keepsLess(projection.compaction, budgets),
      keepTokens,
      commandTokens: settings.mask.enabled ? commandShareTokens(keepTokens) : Number.POSITIVE_INFINITY,
      firstKeptEntryId: cutId ?? originals?.firstKeptEntryId,
      minTokens: reason === "threshold" ? MIN_SPAN_TOKENS : 0,
    },
    summariser: request.summariser,
    skippedModelReason: request.skippedModelReason,
    digest: request.digest ?? digestSummariser(),
    focus: request.focus,
    recordSource: {
      session,
      leafId,
      secrets: sessionSecrets(session, leafId),
      wordsTokens: settings.words.maxTokens,
    },
    pinned: pinnedAt(request, leafId),
    lifecycle: request.lifecycle,
    signal: request.signal ?? new AbortController().signal,
    cost: earlier?.run.cost ?? new RunCost(),
  };
}

type PinnedRequest = Pick<CompactionRequest, "session" | "pinned">;

function pinnedAt({ session, pinned = [] }: PinnedRequest, leafId: string | null): string[] {
  return [...new Set([...pinnedTexts(session, leafId), ...pinned])];
}

/** True if the context still begins with the draft's snapshot, unedited, and the pins are the same. */
export function isCurrent({ run, state }: ClimbResult, request: PinnedRequest): boolean {
  const { items, compaction } = request.session.projection();
  if (compaction?.id !== run.span.previous?.id || !beginsWith(items, run.start.view)) return false;
  const pinned = new Set(pinnedAt(request, request.session.leafId));
  if (pinned.size !== run.pinned.length || run.pinned.some((text) => !pinned.has(text))) return false;
  // A summary that kept nothing keeps the messages that came later.
  const later = items[run.start.view.items.length];
  const keepsNothing = state.summary?.draft.firstKeptEntryId === null;
  return later === undefined || !keepsNothing || roleTraits(later.message).mayStartKept === true;
}

/** True if the items begin with those of a view, with the same edits. */
export function beginsWith(items: readonly ProjectionItem[], { items: before }: ContextView): boolean {
  return before.every(
    ({ entryId, edit }, at) => items[at]?.entryId === entryId && items[at].edit?.id === edit?.id,
  );
}

function isBelowThreshold({ thresholdTokens, compactAboveTokens, total }: Decision): boolean {
  const isLowered = thresholdTokens !== undefined && compactAboveTokens !== thresholdTokens;
  return isLowered && total.tokens <= thresholdTokens;
}

/** The given decision, unless a handler of the start event has changed the session since. */
function currentDecision(request: CompactionRequest): Decision {
  const { session, decision } = request;
  const isSame =
    decision?.reading.leafId === session.leafId &&
    decision.reading.projection.items === session.projection().items;
  return isSame ? decision : decide(request);
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
