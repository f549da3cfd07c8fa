import { BonsaiError, tokensText } from "@bonsai-agent/messages";
import { count as digits } from "@bonsai-agent/messages/numbers";
import type { CompactionEntry, ContextEditEntry } from "@bonsai-agent/session";
import { carriedCounts, carryOver } from "../carry/carry-over.ts";
import type { CarriedCounts, CompactionReason, RungName } from "../carry/details.ts";
import type { LossReport } from "../carry/loss.ts";
import { costUsdOf, type LadderState, type Run, type RungFailure } from "../ladder/ladder.ts";
import {
  besideSummary,
  type CompactionSizes,
  type ContextView,
  compactionSizes,
  editedIds,
  totalAfter,
  type ViewItem,
  viewTokens,
} from "../plan/view.ts";
import type { SummaryKind } from "../summariser.ts";
import {
  type CompactionOutcome,
  type CompactionSteps,
  isModelRung,
  messageOf,
  stepsText,
} from "./outcome.ts";

export type CompactionStatus =
  | "planned"
  | "compacted"
  | "masked"
  | "nothing-to-compact"
  | "already-compacted"
  | "cancelled"
  | "failed";

/** A request to a summariser that has not been sent. */
export interface PlannedRequest {
  kind: SummaryKind;
  /** Estimated. */
  inputTokens: number;
  /** The longest answer that would be taken. */
  maxOutputTokens: number;
}

/** What a compaction did, or a planned one would do. Ids are of entries of the context, oldest first. */
export interface CompactionResult {
  /** `masked`: masks alone were enough, and no summary was made. */
  status: CompactionStatus;
  reason: CompactionReason;
  /** The step of the ladder that got furthest; null where none was needed or none did. */
  rung: RungName | null;
  /** Of the whole request, system prompt and tools with it: from the provider's last report where there is one, else estimated. */
  tokensBefore: number;
  /** The estimated part of `tokensBefore`; 0 where a provider reported all of it. */
  estimatedTokensBefore: number;
  /** `tokensBefore`, without what goes and with the summary: an estimate; in a plan, the summary's length is a guess. */
  tokensAfter: number;
  /** What both are of. */
  sizes: CompactionSizes;
  /** Null when nothing is kept word for word. */
  firstKeptEntryId: string | null;
  splitTurn: boolean;
  /** Summarised as history. The summary of an earlier compaction, which this one updates, is in none of the lists. */
  summarizedEntryIds: string[];
  /** The early part of a split turn, summarised for itself. */
  turnPrefixEntryIds: string[];
  keptEntryIds: string[];
  /** Tool results whose content is masked in the kept part. */
  maskedEntryIds: string[];
  readFiles: string[];
  modifiedFiles: string[];
  summary?: string;
  /** The step of the ladder that made the summary. */
  summarisedBy?: RungName;
  /** Id of the compaction entry. */
  entryId?: string;
  entry?: CompactionEntry;
  /** The edits that were written. */
  edits: readonly ContextEditEntry[];
  /** What was done, or with the status `planned` would be; absent where nothing was. */
  steps?: CompactionSteps;
  /**
   * What the summary left out, and what of that was put back; in a plan, what a summary that says nothing would leave out.
   * Absent where it was not checked.
   */
  loss?: LossReport;
  /** What the summary carries as data; in a plan, what it would. Absent for an extension's own. */
  carried?: CarriedCounts;
  /** Requests to the summariser. */
  requests: number;
  /** In a plan for a given summariser: what would be asked of it; none where `failures` has the reason. */
  plannedRequests?: readonly PlannedRequest[];
  /** Null where requests were made and nobody knows what they cost. */
  costUsd: number | null;
  /** One sentence for people. */
  detail: string;
  /** With the status `nothing-to-compact`, where keeping less would leave something to summarise. */
  isAllRecent?: true;
  /** The extension that did not let it happen, or whose summary stands; absent where none had a say. */
  decidedBy?: string;
  /** With the status `cancelled`, where the user has looked at it and said no. */
  isDeclined?: true;
  /** Rungs that were tried in vain. */
  failures: readonly RungFailure[];
  /** With the status `failed`. */
  error?: BonsaiError;
}

/** The result as the controller reports it. */
export function outcomeOf(result: CompactionResult): CompactionOutcome {
  const { status, reason, detail, tokensBefore, estimatedTokensBefore, tokensAfter } = result;
  const { steps, decidedBy, isDeclined } = result;
  const isDone = status === "compacted" || status === "masked";
  return {
    status: isDone || status === "cancelled" || status === "failed" ? status : "skipped",
    reason,
    detail,
    tokensBefore,
    estimatedTokensBefore,
    tokensAfter,
    ...(isDone && steps && { steps }),
    ...(decidedBy && { decidedBy }),
    ...(result.isAllRecent && { isAllRecent: true }),
    ...(isDeclined && { isDeclined }),
    ...(isDigestUntried(result) && { digestIsUntried: true }),
    ...(status === "failed" && result.failures.length === 0 && { isAtMinimum: true }),
  };
}

/** A model's summary failed, whatever the reason, and the digest, which might have served, was not tried. */
function isDigestUntried({ status, failures }: CompactionResult): boolean {
  const rungs = failures.map(({ rung }) => rung);
  return status === "failed" && rungs.some(isModelRung) && !rungs.includes("digest");
}

/** A run's result as far as it follows from the state that was reached. */
export function resultOf(run: Run, state: LadderState, status: CompactionStatus): CompactionResult {
  const { reason, size, start, cost } = run;
  const changed = status === "planned" || status === "compacted" || status === "masked";
  const summary = changed ? state.summary : undefined;
  const divided = spans(state, status);
  const { view, tokens } = changed ? state : start;
  const { summarizedEntryIds, turnPrefixEntryIds } = divided;
  const steps = stepsOf(view, summarizedEntryIds.length + turnPrefixEntryIds.length);
  return {
    status,
    reason,
    rung: changed ? (state.rung ?? null) : null,
    tokensBefore: size.totalTokens,
    estimatedTokensBefore: size.estimatedTokens,
    tokensAfter: totalAfter(size, tokens),
    sizes: compactionSizes({ size, before: start.view.items, after: view, turnPrefixEntryIds }),
    ...divided,
    maskedEntryIds: changed ? editedIds(state.view, "mask") : [],
    ...(changed ? files(run, state) : { readFiles: [], modifiedFiles: [] }),
    ...(summary && { summary: summary.summary }),
    ...(summary && state.summarisedBy && { summarisedBy: state.summarisedBy }),
    ...(summary?.loss && { loss: summary.loss }),
    ...(summary?.carried && { carried: carriedCounts(summary.carried) }),
    edits: [],
    ...(changed && { steps }),
    requests: cost.requests,
    costUsd: costUsdOf(run, summary),
    ...(status === "nothing-to-compact" && isAllRecent(run, state) && { isAllRecent: true }),
    detail: detailOf(run, state, { status, steps }),
    ...(summary?.fromHook === true && state.madeBy !== undefined && { decidedBy: state.madeBy }),
    failures: state.failures,
  };
}

const details: Record<Exclude<CompactionStatus, "nothing-to-compact">, string> = {
  planned: "Nothing was written.",
  compacted: "Compacted the context.",
  masked: "No summary was needed.",
  "already-compacted": "Nothing to compact: no message came after the latest compaction.",
  cancelled: "Compaction cancelled.",
  failed: "Compaction failed.",
};

function detailOf(
  run: Run,
  state: LadderState,
  { status, steps }: { status: CompactionStatus; steps: CompactionSteps },
): string {
  if (status === "nothing-to-compact") return whyNothing(run, state);
  if (status !== "compacted" && status !== "masked") return details[status];
  return [doneText(run, steps, status), ...caveatsOf(run, state)].join(" ");
}

/** The frame of a summary takes this much by itself. */
const MIN_SUMMARY_TOKENS = 200;

function isAllRecent({ start }: Run, { plan }: LadderState): boolean {
  return plan?.status !== "planned" && start.tokens > MIN_SUMMARY_TOKENS;
}

function whyNothing(run: Run, state: LadderState): string {
  const { plan } = state;
  if (isAllRecent(run, state)) return "Nothing to compact: the whole context is recent.";
  if (run.start.view.items.length === 0) return "Nothing to compact: the session has no messages.";
  const replaced =
    plan?.status === "planned" ? viewTokens([...plan.history, ...plan.turnPrefix]) : run.start.tokens;
  return `Nothing to compact: a summary would be larger than the ${tokensText(replaced, true)} that it replaces.`;
}

/** What is to be known beside what was done, or would be: a sentence each. */
export function caveatsOf(run: Run, state: LadderState): string[] {
  return [...whyDigest(run, state), ...whyEarly(run), ...stillTooLarge(run, state)];
}

function doneText({ former }: Run, steps: CompactionSteps, status: "compacted" | "masked"): string {
  const done = stepsText(steps);
  const { masked, withoutMedia, shortened } = steps;
  const anew = former === undefined ? "" : " again, from the original entries";
  if (status === "compacted")
    return `Compacted the context${anew}${masked + withoutMedia + shortened === 0 ? "" : `: ${done}`}.`;
  return `${done.slice(0, 1).toUpperCase()}${done.slice(1)}; no summary was needed.`;
}

function stepsOf(view: ContextView, summarised: number): CompactionSteps {
  return {
    masked: editedIds(view, "mask").length,
    summarised,
    withoutMedia: editedIds(view, "media").length,
    shortened: editedIds(view, "truncate").length,
  };
}

/** Why the summary is not the model's, where there is a model. */
function whyDigest({ whyUnasked }: Run, { summary, summarisedBy, failures }: LadderState): string[] {
  if (summary === undefined || summarisedBy !== "digest") return [];
  if (whyUnasked !== undefined) return [whyUnasked];
  const failed = failures.findLast(({ rung }) => isModelRung(rung));
  if (failed === undefined) return [];
  return [`Used the built-in digest because the model's summary failed: ${sentence(failed.message)}`];
}

/** That the context was not full, where only money spoke for it. */
function whyEarly({ reason, start, targetTokens = 0, neededTokens = 0 }: Run): string[] {
  const isEarly = targetTokens < neededTokens && start.tokens <= neededTokens;
  if (reason !== "threshold" || !isEarly) return [];
  return ["It came before the threshold because of compaction.economy."];
}

/** Success is not claimed where what is left still does not fit the model. */
function stillTooLarge({ budgets, size }: Run, { tokens }: LadderState): string[] {
  const { windowTokens } = budgets;
  const tokensAfter = totalAfter(size, tokens);
  if (windowTokens === undefined || tokensAfter <= windowTokens) return [];
  return [
    `The context still has ${tokensText(tokensAfter, true)}; the model's window is ${digits(windowTokens)}. Lower compaction.keepRecentTokens, or choose a model with a larger window.`,
  ];
}

/** Only a plan that was carried out, or is shown as a plan, divides the context; else all of it is kept. */
function spans(state: LadderState, status: CompactionStatus) {
  const { plan, summary, view } = state;
  if (plan === undefined || status === "failed" || status === "cancelled" || status === "masked")
    return dividedAt(besideSummary(view.items).map(idOf), 0);
  const cutId = summary !== undefined ? summary.firstKeptEntryId : plan.firstKeptEntryId;
  if (cutId === plan.firstKeptEntryId)
    return {
      firstKeptEntryId: cutId,
      splitTurn: plan.splitTurn,
      summarizedEntryIds: plan.history.map(idOf),
      turnPrefixEntryIds: plan.turnPrefix.map(idOf),
      keptEntryIds: plan.kept.map(idOf),
    };
  // An extension chose another cut than the plan's.
  const ids = [...plan.history, ...plan.turnPrefix, ...plan.kept].map(idOf);
  return dividedAt(ids, cutId === null ? ids.length : ids.indexOf(cutId));
}

function dividedAt(ids: readonly string[], at: number) {
  return {
    firstKeptEntryId: ids[at] ?? null,
    splitTurn: false,
    summarizedEntryIds: ids.slice(0, at),
    turnPrefixEntryIds: [],
    keptEntryIds: ids.slice(at),
  };
}

function files(run: Run, { plan, summary }: LadderState): { readFiles: string[]; modifiedFiles: string[] } {
  const isForeign = summary?.fromHook === true && summary.carried === undefined;
  if (plan?.status !== "planned" || isForeign) return { readFiles: [], modifiedFiles: [] };
  const carried = summary?.carried ?? carryOver(plan, run);
  return { readFiles: [...carried.readFiles], modifiedFiles: [...carried.modifiedFiles] };
}

function idOf(item: ViewItem): string {
  return item.entryId;
}

/** Stands before the causes when an overflow could not be recovered from. */
export const CONTEXT_TOO_LARGE = "Context too large. Compaction failed. Use /compact to retry manually.";

/** The result of a run that got nowhere: nothing was written. */
export function failedResult(run: Run, state: LadderState, cause?: unknown): CompactionResult {
  const ways = state.failures.some(({ rung }) => rung === "digest") ? [] : [withDigest];
  const error = BonsaiError.is(cause)
    ? cause
    : runError(run.reason, causesOf(run, state, cause), { cause, ways });
  return { ...resultOf(run, state, "failed"), detail: error.message, error };
}

/** The result of a run that could not even begin: the session or its settings could not be read. */
export function unpreparedResult(reason: CompactionReason, cause: unknown): CompactionResult {
  const error = failureOf(reason, cause);
  return {
    status: "failed",
    reason,
    rung: null,
    tokensBefore: 0,
    estimatedTokensBefore: 0,
    tokensAfter: 0,
    sizes: {
      fixedTokens: 0,
      summarisedTokens: 0,
      turnPrefixTokens: 0,
      maskedTokens: 0,
      shortenedTokens: 0,
      keptTokens: 0,
      summaryTokens: 0,
    },
    ...dividedAt([], 0),
    maskedEntryIds: [],
    readFiles: [],
    modifiedFiles: [],
    edits: [],
    requests: 0,
    costUsd: 0,
    detail: error.message,
    failures: [],
    error,
  };
}

/** Whatever was thrown, as an error for the user. */
export function failureOf(reason: CompactionReason, cause: unknown): BonsaiError {
  return BonsaiError.is(cause) ? cause : runError(reason, sentence(`Cause: ${messageOf(cause)}`), { cause });
}

/** @param more.ways what else may help than what always may */
function runError(
  reason: CompactionReason,
  causes: string,
  { cause, ways = [withDigest] }: { cause: unknown; ways?: readonly string[] },
): BonsaiError {
  if (reason === "overflow") {
    return new BonsaiError({
      /** No compaction made the context small enough after an overflow. */
      code: "context_too_large",
      message: `${CONTEXT_TOO_LARGE} ${causes}`,
      hint: "Run /compact or `bonsai compact FILE`, go back with /tree or `bonsai session goto FILE ENTRY`, start a new session, or choose a model with a larger window.",
      cause,
    });
  }
  return new BonsaiError({
    code: "compaction_failed",
    message: `Compaction failed. ${causes}`,
    hint: `${[reason === "manual" ? "Try again" : "Run /compact or `bonsai compact FILE`", ...ways, "or choose another model"].join(", ")}.`,
    cause,
  });
}

const withDigest =
  "use the built-in digest (`/compact digest`, `bonsai compact FILE --digest`, or the setting compaction.summarizer.fallback)";

function causesOf(run: Run, state: LadderState, cause: unknown): string {
  const overhead = overheadAlone(run);
  if (overhead !== undefined) return overhead;
  const failures = state.failures.map(({ rung, message }) => `${rung}: ${message}`);
  const unasked = run.whyUnasked === undefined ? [] : [run.whyUnasked];
  const causes = [...unasked, ...failures, ...(cause === undefined ? [] : [messageOf(cause)])];
  if (causes.length > 0) return sentence(`Causes: ${causes.join(" | ")}`);
  return run.span.justCompacted
    ? "Cause: no message came after the latest compaction."
    : "Cause: nothing is left to summarise, mask or cut.";
}

/** What messages take can be so many times their estimate. */
const LOWEST_ESTIMATE = 4;

/** No compaction makes what stands before every message smaller. */
function overheadAlone({ reason, budgets, size, start }: Run): string | undefined {
  const { windowTokens } = budgets;
  if (reason !== "overflow" || windowTokens === undefined) return undefined;
  if (size.totalTokens - start.tokens * LOWEST_ESTIMATE <= windowTokens) return undefined;
  const overhead = tokensText(size.totalTokens - start.tokens, true);
  return `Cause: the system prompt and the tools alone take ${overhead}; the model's window is ${digits(windowTokens)}.`;
}

/** Messages of servers and extensions end as they like, and another sentence follows. */
function sentence(text: string): string {
  return /[.!?。…]$/.test(text) ? text : `${text}.`;
}
