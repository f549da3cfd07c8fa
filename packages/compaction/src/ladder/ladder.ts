import { BonsaiError, messageOf } from "@bonsai-agent/messages";
import { tokenDigits } from "@bonsai-agent/messages/numbers";
import type { CompactionEntry, Session } from "@bonsai-agent/session";
import type { CarryOver, RecordSource } from "../carry/carry-over.ts";
import type { ExtensionCarryOver } from "../carry/extension-carry.ts";
import { isEmptySummary } from "../carry/summary-text.ts";
import { type CompactionReason, isModelRung, type LossReport, type RungName } from "../details.ts";
import type { CompactionLifecycle } from "../events.ts";
import type { ContextReading } from "../plan/context.ts";
import { type CompactionPlan, type PlanOptions, planSpan } from "../plan/cut.ts";
import type { Budgets, Goals } from "../plan/limits.ts";
import { type ContextSize, type ContextView, totalAfter } from "../plan/view.ts";
import type { CompactionSettings } from "../settings.ts";
import { type Summariser, SummaryFailure } from "../summariser.ts";
import type { RunCost } from "./ask.ts";

/** One compaction: its request with all defaults, the context at its start, its goals, and its cost so far. */
export interface Run extends Goals {
  readonly session: Session;
  readonly leafId: string | null;
  readonly reason: CompactionReason;
  readonly isBackground?: boolean | undefined;
  readonly isEconomic: boolean;
  readonly settings: CompactionSettings;
  readonly budgets: Budgets;
  readonly reading: ContextReading;
  readonly size: ContextSize;
  readonly start: LadderState;
  /** The compaction that this one repeats. */
  readonly former: CompactionEntry | undefined;
  readonly span: Omit<PlanOptions, "view">;
  /** Undefined for the digest alone. */
  readonly summariser: Summariser | undefined;
  readonly skippedModelReason?: string | undefined;
  readonly digest: Summariser | undefined;
  readonly focus: string | undefined;
  /** Replaces the instructions of the summary request. The answer then needs no sections. */
  readonly instructions?: string | undefined;
  /** True if the user chose the digest: summaries of extensions are ignored. Default: false. */
  readonly isDigestWanted?: boolean;
  /** True if a summary may be longer than the messages that it replaces. Default: false. */
  readonly mayGrow?: boolean | undefined;
  readonly recordSource: RecordSource;
  readonly pinned: readonly string[];
  readonly lifecycle: CompactionLifecycle | undefined;
  readonly signal: AbortSignal;
  readonly cost: RunCost;
}

/** The context after some rungs. Nothing is written yet. */
export interface LadderState {
  readonly view: ContextView;
  readonly plan: CompactionPlan | undefined;
  readonly summary: LaidSummary | undefined;
  /** Texts that extensions carry after the summary, bounded. */
  readonly carryOver?: ExtensionCarryOver | undefined;
  readonly tokens: number;
  /** The last rung that shrank the context. */
  readonly rung: RungName | undefined;
  readonly failures: readonly RungFailure[];
}

/** A rung that failed, or did not shrink the context. */
export interface RungFailure {
  rung: RungName;
  message: string;
  cause?: unknown;
  /** True if the summariser found its request too long. */
  overflow?: boolean;
}

export interface Rung {
  readonly name: RungName;
  /** The state after the step. The same state if there is nothing to do. */
  attempt(state: LadderState, run: Run): LadderState | Promise<LadderState>;
}

/**
 * A summary before its commit: text and cut, without a context. A model, the digest, an extension, the background and the
 * user's edit each make one; `layDraft` fits it to the context of the moment.
 */
export interface Draft {
  prose: string;
  /** Null keeps nothing. */
  firstKeptEntryId: string | null;
  rung: RungName;
  extension?: string | undefined;
  /** True for quotes of the record, as the digest makes them. */
  isExtract?: boolean | undefined;
  focus?: string | undefined;
  isEdited?: boolean | undefined;
  /** For an extension's own text: the parts that it carries, and its details. */
  own?: { carry: readonly ("userWords" | "terms")[]; details: unknown } | undefined;
}

/** A draft with the data that it carries into a context. */
export interface LaidSummary {
  draft: Draft;
  text: string;
  carried: CarryOver;
  /** Facts that the context loses. Absent without a check. */
  loss?: LossReport | undefined;
}

export interface ClimbResult {
  run: Run;
  state: LadderState;
}

/**
 * Climbs until the goal is reached. A rung that throws or does not shrink the context is recorded as a failure, and the
 * next rung starts from the last good state. Writes nothing.
 * @param from the first state. Default: the context as it is
 * @throws CompactionCancelled after an abort, or if an extension cancels; BonsaiError for an unacceptable summary of an
 *   extension
 */
export async function climb(
  run: Run,
  rungs: readonly Rung[],
  from: LadderState = run.start,
): Promise<LadderState> {
  let state = from;
  for (const rung of rungs) {
    if (isReached(state, run.goalTokens)) break;
    if (run.signal.aborted) throw new CompactionCancelled("");
    if (rung.name !== "mask") state = plannedState(state, run);
    state = await tryRung(rung, state, run);
  }
  return state;
}

/** The state with its plan; an existing plan stays. */
export function plannedState(state: LadderState, run: Run): LadderState {
  return { ...state, plan: state.plan ?? planSpan({ ...run.span, view: state.view }) };
}

/** True if nothing more has to be done. */
export function isReached({ summary, tokens }: LadderState, goalTokens: number | undefined): boolean {
  return goalTokens === undefined ? summary !== undefined : tokens <= goalTokens;
}

/** True if there is a summary to write, or edits that suffice or are better than nothing. */
export function isWorthWriting(run: Run, state: LadderState): boolean {
  return state.summary !== undefined || masksSuffice(run, state) || isBestTry(run, state);
}

/** An automatic run is done at its goal; a manual one if the masks alone made the rest fit its budget. */
export function masksSuffice(run: Run, state: LadderState): boolean {
  if (state.view.edits.length === 0) return false;
  if (run.reason !== "manual") return isReached(state, run.goalTokens);
  return state.plan?.status === "nothing-to-compact" && run.start.tokens > run.span.keepTokens;
}

/** If no request would be sent otherwise, edits that missed the goal are better than an error. */
function isBestTry(run: Run, { view, tokens }: LadderState): boolean {
  const { reason, start } = run;
  const isForced =
    reason === "overflow" || (reason === "threshold" && isUnsendable(start.tokens, run.sendableTokens));
  return isForced && view.edits.length > 0 && tokens < start.tokens;
}

/** True for a context so far above the window that no request with it would be sent. */
export function isUnsendable(tokens: number, sendableTokens = Number.POSITIVE_INFINITY): boolean {
  return tokens > sendableTokens;
}

/** True if the plan needs a summary that is not made yet. */
export function needsSummary({ plan, summary }: LadderState): boolean {
  return plan?.status === "planned" && summary === undefined;
}

/** The state after a rung, or the former one with the failure. @throws as `climb` does */
async function tryRung(rung: Rung, state: LadderState, run: Run): Promise<LadderState> {
  try {
    const next = await rung.attempt(state, run);
    // Carried texts of extensions alone change nothing.
    if (next.view === state.view && next.summary === state.summary) return next;
    if (next.summary !== undefined && isEmptySummary(next.summary.draft.prose))
      throw new SummaryFailure("empty", "The summary is empty.");
    if (next.tokens < state.tokens || mayGrow(state, next, run)) return { ...next, rung: rung.name };
    throw new SummaryFailure("no-shorter", noShorterText(run, state, next));
  } catch (error) {
    if (error instanceof CompactionCancelled || BonsaiError.is(error)) throw error;
    if (run.signal.aborted) throw new CompactionCancelled("");
    const overflow = error instanceof SummaryFailure && (error.overflow || error.kind === "does-not-fit");
    const failure = { rung: rung.name, message: messageOf(error), cause: error, overflow };
    return { ...state, failures: [...state.failures, failure] };
  }
}

/** Gives the sizes of whole contexts, like every other size before and after a compaction. */
export function noShorterText({ size }: Run, before: LadderState, after: LadderState): string {
  const [from, to] = [before, after].map(({ tokens }) => tokenDigits(totalAfter(size, tokens), true));
  return `It would not shrink the context: ${from} tokens before, ${to} after.`;
}

/** The headings alone make a summary of a few messages longer than the messages. */
const MAX_EXTRA_TOKENS = 500;

/** True for an extension's summary, and for a manual summary of a model that is only a little longer. */
export function mayGrow(before: LadderState, { summary, tokens }: LadderState, run: Run): boolean {
  if (summary === undefined) return false;
  const { rung } = summary.draft;
  if (rung === "extension" || run.mayGrow) return true;
  return run.reason === "manual" && isModelRung(rung) && tokens - before.tokens <= MAX_EXTRA_TOKENS;
}

/** The user or an extension stopped the compaction. */
export class CompactionCancelled extends Error {
  /** The extension that stopped it; undefined for the user. */
  readonly by: string | undefined;
  /** True if the user reviewed the compaction and declined it. */
  readonly isDeclined: boolean;

  constructor(why: string, by?: string, isDeclined = false) {
    super(why);
    this.name = "CompactionCancelled";
    this.by = by;
    this.isDeclined = isDeclined;
  }
}
