import { BonsaiError } from "@bonsai-agent/messages";
import { type PlanOptions, planSpan } from "./plan.ts";
import type { LadderContext, LadderState, Rung } from "./rung.ts";
import { SummaryFailure } from "./summariser.ts";
import { saysNothing } from "./summary-text.ts";

interface ClimbOptions {
  rungs: readonly Rung[];
  start: LadderState;
  context: LadderContext;
  /** What planning needs beside the view. */
  span: Omit<PlanOptions, "view">;
}

/**
 * Climbs until the target is met. A rung that throws or does not shrink the context is noted as a failure, and
 * the next one is tried from where the last good one stood. Nothing is written.
 * @throws CompactionCancelled when the signal aborts or an extension cancels; BonsaiError where an extension's
 *   summary is not acceptable.
 */
export async function climb({ rungs, start, context, span }: ClimbOptions): Promise<LadderState> {
  let state = start;
  for (const rung of rungs) {
    if (context.signal.aborted) throw new CompactionCancelled("It was aborted.");
    if (isReached(state, context)) break;
    if (rung.name !== "mask")
      state = { ...state, plan: state.plan ?? planSpan({ ...span, view: state.view }) };
    if (rung.applies(state, context)) state = await tryRung(rung, state, context);
  }
  return state;
}

/** True when nothing more has to be done. */
export function isReached(state: LadderState, { targetTokens }: LadderContext): boolean {
  return targetTokens === undefined ? state.summary !== undefined : state.tokens <= targetTokens;
}

/** One rung: the state after it, or the former one with the failure noted. @throws as `climb` does */
export async function tryRung(rung: Rung, state: LadderState, context: LadderContext): Promise<LadderState> {
  try {
    const next = await rung.attempt(state, context);
    // What extensions want carried over changes nothing by itself.
    if (next.view === state.view && next.summary === state.summary) return next;
    if (next.summary !== undefined && saysNothing(next.summary.prose))
      throw new SummaryFailure("empty", "The summary says nothing.");
    if (next.tokens < state.tokens || maySpend(next, context)) return { ...next, rung: rung.name };
    throw new SummaryFailure(
      "too-large",
      `It would not shrink the context: ${state.tokens} tokens before, ${next.tokens} after.`,
    );
  } catch (error) {
    if (error instanceof CompactionCancelled || BonsaiError.is(error)) throw error;
    if (context.signal.aborted) throw new CompactionCancelled("It was aborted.");
    return { ...state, failures: [...state.failures, failureOf(rung, error)] };
  }
}

/** An extension's summary, or a short one that the user asked for, is taken as it is. */
function maySpend({ summary, view }: LadderState, { reason }: LadderContext): boolean {
  if (summary === undefined) return false;
  return (
    summary.fromHook || (reason === "manual" && view.estimator.text(summary.summary) <= SHORT_SUMMARY_TOKENS)
  );
}

/** A summary of a few messages can be longer than they are by its headings alone; no one is harmed by that. */
const SHORT_SUMMARY_TOKENS = 500;

function failureOf(rung: Rung, error: unknown): LadderState["failures"][number] {
  const message = error instanceof Error ? error.message : String(error);
  const overflow = error instanceof SummaryFailure && (error.overflow || error.kind === "does-not-fit");
  return { rung: rung.name, message, cause: error, overflow };
}

/** Thrown inside a compaction that somebody stopped: the user, or an extension. */
export class CompactionCancelled extends Error {
  /** The extension that stopped it; undefined for the user. */
  readonly by: string | undefined;

  constructor(why: string, by?: string) {
    super(why);
    this.name = "CompactionCancelled";
    this.by = by;
  }
}
