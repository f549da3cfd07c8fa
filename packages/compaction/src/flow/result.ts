import { BonsaiError, chars4Estimator, messageOf } from "@bonsai-agent/messages";
import { counted, count as digits, tokensText } from "@bonsai-agent/messages/numbers";
import type { CompactionEntry, ContextEditEntry } from "@bonsai-agent/session";
import { carriedCounts, planFiles } from "../carry/carry-over.ts";
import {
  type CarriedCounts,
  type CompactionReason,
  isModelRung,
  type LossReport,
  manifestOf,
  type RungName,
} from "../details.ts";
import type { CompactionOutcome, CompactionSteps } from "../events.ts";
import { RunCost } from "../ladder/ask.ts";
import { CompactionCancelled, type LadderState, type Run, type RungFailure } from "../ladder/run.ts";
import { splitAt } from "../plan/cut.ts";
import {
  type CompactionSizes,
  compactionSizes,
  contextSizeOf,
  editedIds,
  totalAfter,
  viewTokens,
  withoutSummary,
} from "../plan/view.ts";
import type { SummaryKind } from "../summariser.ts";

/** The effect of a compaction, or of a planned one. Ids are of entries of the context, oldest first. */
export interface CompactionResult extends Omit<CompactionOutcome, "status"> {
  /** `masked`: masks alone were enough, without a summary. */
  status:
    | Exclude<CompactionOutcome["status"], "skipped">
    | "planned"
    | "nothing-to-compact"
    | "already-compacted";
  /** The last rung that shrank the context; null if none was needed or none did. */
  rung: RungName | null;
  /** The parts of both sizes. */
  sizes: CompactionSizes;
  /** Null if no message is kept word for word. */
  firstKeptEntryId: string | null;
  splitTurn: boolean;
  /** Summarised as history. No list contains the summary of an earlier compaction, which this one updates. */
  summarizedEntryIds: string[];
  /** The early part of a split turn, which has its own summary. */
  turnPrefixEntryIds: string[];
  keptEntryIds: string[];
  /** Tool results whose content is masked in the kept part. */
  maskedEntryIds: string[];
  readFiles: string[];
  modifiedFiles: string[];
  summary?: string;
  /** The rung that made the summary. */
  summarisedBy?: RungName;
  /** The model also sees a summary that its provider made, or would make. `isSealed`: only the provider can read it. */
  provider?: { isSealed: boolean };
  /** Id of the compaction entry. */
  entryId?: string;
  entry?: CompactionEntry;
  /** The written edits. */
  edits: readonly ContextEditEntry[];
  /**
   * Facts that the summary left out, and those that were put back. In a plan: those that an empty summary would leave
   * out. Absent without a check.
   */
  loss?: LossReport;
  /** The data that the summary carries. Absent for an extension's own summary. */
  carried?: CarriedCounts;
  /** Requests to the summariser. */
  requests: number;
  /**
   * In a plan for a given summariser: the requests to it, with estimated input and the longest accepted answer. Empty if
   * `failures` has the reason.
   */
  plannedRequests?: ReadonlyArray<{
    kind: SummaryKind | "provider";
    inputTokens: number;
    maxOutputTokens: number;
  }>;
  /** Null if the cost of a request is unknown. */
  costUsd: number | null;
  /** Rungs that failed. */
  failures: readonly RungFailure[];
  /** With the status `failed`. */
  error?: BonsaiError;
}

export function outcomeOf(result: CompactionResult): CompactionOutcome {
  const { status, reason, detail, tokensBefore, estimatedTokensBefore, tokensAfter } = result;
  const { caveat, cancelReason, steps, decidedBy, isAllRecent } = result;
  const { isDeclined, digestIsUntried, isAtMinimum } = result;
  const isSkipped = status === "planned" || status === "nothing-to-compact" || status === "already-compacted";
  return {
    status: isSkipped ? "skipped" : status,
    ...{ reason, detail, tokensBefore, estimatedTokensBefore, tokensAfter },
    ...(caveat && { caveat }),
    ...(cancelReason && { cancelReason }),
    ...(steps && { steps }),
    ...(decidedBy && { decidedBy }),
    ...(isAllRecent && { isAllRecent }),
    ...(isDeclined && { isDeclined }),
    ...(digestIsUntried && { digestIsUntried }),
    ...(isAtMinimum && { isAtMinimum }),
  };
}

/** The result of a run in this state. With a status that changes nothing, it describes the context at the start. */
export function resultOf(
  run: Run,
  reached: LadderState,
  status: CompactionResult["status"],
): CompactionResult {
  const { reason, size, start, cost } = run;
  const isChanged = status === "planned" || status === "compacted" || status === "masked";
  const state = isChanged ? reached : { ...start, plan: reached.plan, failures: reached.failures };
  const { view, tokens, summary } = state;
  const spans = spansOf(state, status);
  const { summarizedEntryIds, turnPrefixEntryIds } = spans;
  const maskedEntryIds = editedIds(view, "mask");
  const steps = {
    masked: maskedEntryIds.length,
    summarised: summarizedEntryIds.length + turnPrefixEntryIds.length,
    withoutMedia: editedIds(view, "media").length,
    shortened: editedIds(view, "truncate").length,
  };
  const caveat = status === "compacted" || status === "masked" ? caveatsOf(run, state).join(" ") : "";
  const isOwn = summary?.draft.own !== undefined;
  const { rung, extension } = summary?.draft ?? {};
  return {
    status,
    reason,
    rung: state.rung ?? null,
    tokensBefore: size.totalTokens,
    estimatedTokensBefore: size.estimatedTokens,
    tokensAfter: totalAfter(size, tokens),
    sizes: compactionSizes(size, start.view.items, view, turnPrefixEntryIds),
    ...spans,
    maskedEntryIds,
    ...filesIn(run, isChanged && !isOwn ? state : undefined),
    ...(summary && { summary: summary.text, summarisedBy: rung! }),
    ...(summary?.draft.provider && { provider: { isSealed: summary.draft.provider.isSealed === true } }),
    ...(summary?.loss && { loss: summary.loss }),
    ...(summary && !isOwn && { carried: carriedCounts(summary.carried) }),
    edits: [],
    ...(isChanged && { steps }),
    requests: cost.requests,
    costUsd: cost.usd(run.summariser),
    ...(status === "nothing-to-compact" && isAllRecent(run, state) && { isAllRecent: true }),
    detail: `${detailOf(run, state, status, steps)} ${caveat}`.trim(),
    ...(caveat !== "" && { caveat }),
    ...(extension !== undefined && { decidedBy: extension }),
    failures: state.failures,
  };
}

/** Only a plan divides the context, and only if it was carried out or is shown as a plan. Else everything is kept. */
function spansOf({ plan, view }: LadderState, status: CompactionResult["status"]) {
  const isDivided = plan !== undefined && !["failed", "cancelled", "masked"].includes(status);
  const parts = isDivided ? plan : splitAt(withoutSummary(view.items), 0);
  return {
    firstKeptEntryId: parts.firstKeptEntryId,
    splitTurn: parts.splitTurn,
    summarizedEntryIds: parts.history.map(({ entryId }) => entryId),
    turnPrefixEntryIds: parts.turnPrefix.map(({ entryId }) => entryId),
    keptEntryIds: parts.kept.map(({ entryId }) => entryId),
  };
}

/** The files that the summary of a plan lists. */
function filesIn({ recordSource }: Run, { plan, summary }: Partial<LadderState> = {}) {
  const isPlanned = plan?.status === "planned";
  const listed = isPlanned ? (summary?.carried ?? recordSource.secrets.value(planFiles(plan))) : undefined;
  return { readFiles: [...(listed?.readFiles ?? [])], modifiedFiles: [...(listed?.modifiedFiles ?? [])] };
}

/**
 * The result of a run that wrote nothing: it failed, or was cancelled.
 * @param cause the thrown error. Default: the ladder's failures are the causes
 */
export function failedResult(run: Run, state: LadderState, cause?: unknown): CompactionResult {
  if (cause instanceof CompactionCancelled) {
    const { by: decidedBy, isDeclined, message } = cause;
    return {
      ...resultOf(run, state, "cancelled"),
      detail: `Compaction cancelled. ${message}`.trim(),
      ...(message !== "" && !isDeclined && { cancelReason: message }),
      ...(decidedBy !== undefined && { decidedBy }),
      ...(isDeclined && { isDeclined }),
    };
  }
  const rungs = state.failures.map(({ rung }) => rung);
  const isDigestTried = rungs.includes("digest");
  const error = errorOf(run.reason, cause, causesOf(run, state, cause), isDigestTried);
  return {
    ...resultOf(run, state, "failed"),
    detail: error.message,
    error,
    ...(rungs.some(isModelRung) && !isDigestTried && { digestIsUntried: true }),
    ...(rungs.length === 0 && { isAtMinimum: true }),
  };
}

/** The result of a run that could not begin, because the session or its settings could not be read. */
export function unpreparedResult(reason: CompactionReason, cause: unknown): CompactionResult {
  const reading = { tokens: 0, trailingTokens: 0, source: "estimate" as const };
  const size = contextSizeOf({ reading, estimatedTokens: 0 });
  const view = { items: [], edits: [], estimator: chars4Estimator };
  const start = { view, plan: undefined, summary: undefined, tokens: 0, rung: undefined, failures: [] };
  // An empty context needs no more of a run.
  const nothing = { reason, size, start, cost: new RunCost() } as unknown as Run;
  const error = errorOf(reason, cause);
  return { ...resultOf(nothing, start, "failed"), detail: error.message, error, isAtMinimum: true };
}

/** "masked 5 old results, shortened 1 message", in the order of the steps. */
export function stepsText({ masked, summarised, withoutMedia, shortened }: CompactionSteps): string {
  const step = (verb: string, count: number, noun = "message") =>
    count === 0 ? [] : [`${verb} ${counted(count, noun)}`];
  return [
    ...step("masked", masked, "old result"),
    ...step("summarised", summarised),
    ...step("removed the images of", withoutMedia),
    ...step("shortened", shortened),
  ].join(", ");
}

/** The size of the context before a compaction, with its unit. Undefined if it is damaged. */
export function sizeBeforeText(compaction: CompactionEntry): string | undefined {
  const { tokensBefore } = compaction;
  if (!Number.isFinite(tokensBefore)) return undefined;
  return tokensText(tokensBefore, Number(manifestOf(compaction)?.estimatedTokensBefore) > 0);
}

/** Says what a compaction did, or why it did nothing. */
function detailOf(
  run: Run,
  state: LadderState,
  status: CompactionResult["status"],
  steps: CompactionSteps,
): string {
  const done = stepsText(steps);
  switch (status) {
    case "planned":
      return "Nothing was written.";
    case "already-compacted":
      return "Nothing to compact: no message came after the latest compaction.";
    case "nothing-to-compact":
      return nothingText(run, state);
    case "cancelled":
      return "Compaction cancelled.";
    case "failed":
      return "Compaction failed.";
    case "masked":
      return `${done.slice(0, 1).toUpperCase()}${done.slice(1)}; no summary was needed.`;
    case "compacted": {
      const again = run.former === undefined ? "" : " again, from the original entries";
      const isMore = steps.masked + steps.withoutMedia + steps.shortened > 0;
      return `Compacted the context${again}${isMore ? `: ${done}` : ""}.`;
    }
  }
}

/** Tokens that the frame of a summary takes. */
const MIN_SUMMARY_TOKENS = 200;

/** True if keeping less would leave something to summarise. */
function isAllRecent({ start }: Run, { plan }: LadderState): boolean {
  return plan?.status !== "planned" && start.tokens > MIN_SUMMARY_TOKENS;
}

function nothingText(run: Run, state: LadderState): string {
  const { plan } = state;
  if (isAllRecent(run, state)) return "Nothing to compact: the whole context is recent.";
  const { view, tokens } = run.start;
  if (view.items.length === 0) return "Nothing to compact: the session has no messages.";
  const replaced = plan?.status === "planned" ? viewTokens([...plan.history, ...plan.turnPrefix]) : tokens;
  return `Nothing to compact: a summary would be larger than the ${tokensText(replaced, true)} that it replaces.`;
}

/** Notes about a compaction beside what it did, a sentence each. */
export function caveatsOf(run: Run, { summary, failures, tokens }: LadderState): string[] {
  const { skippedModelReason, size, budgets } = run;
  const caveats: string[] = [];
  const providerFailure = failures.find(({ rung }) => rung === "provider");
  if (providerFailure !== undefined && summary !== undefined)
    caveats.push(`The provider's compaction was not used: ${sentence(providerFailure.message)}`);
  if (summary?.draft.rung === "digest") {
    const failed = failures.findLast(({ rung }) => rung !== "provider" && isModelRung(rung));
    if (skippedModelReason !== undefined) caveats.push(skippedModelReason);
    else if (failed !== undefined)
      caveats.push(
        `Used the built-in digest because the model's summary failed: ${sentence(failed.message)}`,
      );
  }
  if (run.isEconomic) caveats.push("It came before the threshold because of compaction.economy.");
  const tokensAfter = totalAfter(size, tokens);
  const { windowTokens = Number.POSITIVE_INFINITY } = budgets;
  if (tokensAfter > windowTokens)
    caveats.push(
      `The context still has ${tokensText(tokensAfter, true)}; the model's window is ${digits(windowTokens)}. Lower compaction.keepRecentTokens, or choose a model with a larger window.`,
    );
  return caveats;
}

/** The start of the error of an overflow that could not be recovered. */
export const CONTEXT_TOO_LARGE = "Context too large. Compaction failed. Use /compact to retry manually.";
const DIGEST_HINT =
  "use the built-in digest (`/compact digest`, `bonsai compact FILE --digest`, or the setting compaction.summarizer.fallback)";

/** Any thrown value as an error for the user. */
export function errorOf(
  reason: CompactionReason,
  cause: unknown,
  causes = sentence(`Cause: ${messageOf(cause)}`),
  isDigestTried = false,
): BonsaiError {
  if (BonsaiError.is(cause)) return cause;
  if (reason === "overflow") {
    return new BonsaiError({
      /** No compaction made the context small enough after an overflow. */
      code: "context_too_large",
      message: `${CONTEXT_TOO_LARGE} ${causes}`,
      hint: "Run /compact or `bonsai compact FILE`, go back with /tree or `bonsai session goto FILE ENTRY`, start a new session, or choose a model with a larger window.",
      cause,
    });
  }
  const again = reason === "manual" ? "Try again" : "Run /compact or `bonsai compact FILE`";
  const digest = isDigestTried ? "" : `, ${DIGEST_HINT}`;
  return new BonsaiError({
    code: "compaction_failed",
    message: `Compaction failed. ${causes}`,
    hint: `${again}${digest}, or choose another model.`,
    cause,
  });
}

/** The causes of a failed run, from its ladder and the thrown value. */
function causesOf(run: Run, state: LadderState, cause: unknown): string {
  const overhead = overheadAlone(run);
  if (overhead !== undefined) return overhead;
  const failures = state.failures.map(({ rung, message }) => `${rung}: ${message}`);
  const skipped = run.skippedModelReason === undefined ? [] : [run.skippedModelReason];
  const causes = [...skipped, ...failures, ...(cause === undefined ? [] : [messageOf(cause)])];
  if (causes.length > 0) return sentence(`Causes: ${causes.join(" | ")}`);
  return run.span.justCompacted
    ? "Cause: no message came after the latest compaction."
    : "Cause: nothing is left to summarise, mask or cut.";
}

/** Messages can take this many times their estimate. */
const MAX_UNDERESTIMATE = 4;

/** No compaction shrinks the part of a request before its messages. */
function overheadAlone({ reason, budgets, size, start }: Run): string | undefined {
  const { windowTokens = Number.POSITIVE_INFINITY } = budgets;
  const leastTokens = size.totalTokens - start.tokens * MAX_UNDERESTIMATE;
  if (reason !== "overflow" || leastTokens <= windowTokens) return undefined;
  const overhead = tokensText(size.totalTokens - start.tokens, true);
  return `Cause: the system prompt and the tools alone take ${overhead}; the model's window is ${digits(windowTokens)}.`;
}

/** Ends a message of a server or extension with a full stop, because another sentence follows. */
function sentence(text: string): string {
  return /[.!?。…]$/.test(text) ? text : `${text}.`;
}
