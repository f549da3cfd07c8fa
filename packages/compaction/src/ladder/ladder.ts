import { BonsaiError, messageOf } from "@bonsai-agent/messages";
import { tokenDigits } from "@bonsai-agent/messages/numbers";
import { isEmptySummary } from "../carry/summary-text.ts";
import { isModelRung } from "../details.ts";
import { planSpan } from "../plan/plan.ts";
import { totalAfter } from "../plan/sizes.ts";
import { SummaryFailure } from "../summariser.ts";
import type { LadderState, Run, Rung } from "./run.ts";

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
    if (isReached(state, run)) break;
    if (rung.name !== "mask") state = plannedState(state, run);
    if (!rung.applies(state, run)) continue;
    if (run.signal.aborted) throw new CompactionCancelled("");
    state = await tryRung(rung, state, run);
  }
  return state;
}

/** The state with its plan; an existing plan stays. */
export function plannedState(state: LadderState, run: Run): LadderState {
  return { ...state, plan: state.plan ?? planSpan({ ...run.span, view: state.view }) };
}

/** True if nothing more has to be done. */
export function isReached({ summary, tokens }: LadderState, { goalTokens }: Run): boolean {
  return goalTokens === undefined ? summary !== undefined : tokens <= goalTokens;
}

/** True if there is a summary to write, or edits that suffice or are better than nothing. */
export function isWorthWriting(run: Run, state: LadderState): boolean {
  return state.summary !== undefined || masksSuffice(run, state) || isBestTry(run, state);
}

/** An automatic run is done at its goal; a manual one if the masks alone made the rest fit its budget. */
export function masksSuffice(run: Run, state: LadderState): boolean {
  if (state.view.edits.length === 0) return false;
  if (run.reason !== "manual") return isReached(state, run);
  return state.plan?.status === "nothing-to-compact" && run.start.tokens > run.span.keepTokens;
}

/** If no request would be sent otherwise, edits that missed the goal are better than an error. */
function isBestTry(run: Run, { view, tokens }: LadderState): boolean {
  const { reason, start } = run;
  const isForced = reason === "overflow" || (reason === "threshold" && isUnsendable(start, run));
  return isForced && view.edits.length > 0 && tokens < start.tokens;
}

/** True for a context so far above the window that no request with it would be sent. */
export function isUnsendable(
  { tokens }: LadderState,
  { sendableTokens = Number.POSITIVE_INFINITY }: Run,
): boolean {
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
  if (rung === "extension") return true;
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
