import { carriedCounts, carriedTokens, carryOver } from "../carry/carry-over.ts";
import { checkedCarryOver } from "../carry/loss-check.ts";
import { previousProse, summaryText } from "../carry/summary-text.ts";
import { prepareRun, type RunCompactionOptions } from "../flow/prepare-run.ts";
import { type CompactionResult, type PlannedRequest, resultOf } from "../flow/result.ts";
import { promptTokens, type SummaryJob, type SummaryPart, summaryRequest } from "../ladder/ask-summary.ts";
import {
  type LadderState,
  ladderSteps,
  masksSuffice,
  type Run,
  type RungFailure,
  summarisedState,
} from "../ladder/ladder.ts";
import { ladderRungs, maskedState } from "../ladder/rungs.ts";
import { chunkParts, fitsWhole, type SpanPart, spanParts, wholePart } from "../ladder/summarise.ts";
import { type Summariser, SummaryFailure } from "../summariser.ts";
import { type Budgets, maxSummaryTokens, type SummariserSizes } from "./budget.ts";
import type { CompactionPlan } from "./plan.ts";
import { viewTokens } from "./view.ts";

export interface PlanCompactionOptions
  extends Pick<
    RunCompactionOptions,
    | "session"
    | "reason"
    | "settings"
    | "model"
    | "estimator"
    | "focus"
    | "firstKeptEntryId"
    | "isAgain"
    | "fixedTexts"
    | "pinned"
  > {
  /** Plan for the path to this entry. Default: the session's leaf. */
  leafId?: string;
  /** Who would be asked for the summary: then the result has the planned requests. */
  summariser?: SummariserSizes & Pick<Summariser, "name">;
}

/**
 * What `runCompaction` would do, without asking anybody and without writing: the masks, the cut, the spans.
 * `tokensAfter` is with a summary of the size that is usual: how long it will be is not known yet.
 * @throws BonsaiError `cut_not_allowed`, `nothing_to_make_anew`, and what reading the session throws
 */
export function planCompaction(options: PlanCompactionOptions): CompactionResult {
  const { summariser, ...asked } = options;
  const run = prepareRun(asked);
  const state = climbToPlan(run);
  const { plan } = state;
  if (plan === undefined || masksSuffice(run, state)) return resultOf(run, state, "planned");
  if (plan.status !== "planned") return resultOf(run, { ...run.start, plan }, plan.status);
  return plannedResult(run, state, summariser);
}

/** What a summary by the state's plan is expected to bring, and to take. */
export function plannedResult(
  run: Run,
  state: LadderState,
  summariser: PlanCompactionOptions["summariser"],
): CompactionResult {
  const requests = summariser === undefined ? {} : plannedRequests(run, state, summariser);
  const { expected, ...carrying } = expectedState(run, state, summariser);
  return { ...resultOf(run, expected, "planned"), ...carrying, ...requests };
}

/** The climb as far as it asks nobody: the masks, and the plan, which is made before every other step. */
function climbToPlan(run: Run): LadderState {
  const steps = ladderSteps(run, ladderRungs);
  let next = steps.next();
  if (!next.done && next.value.rung.name === "mask") next = steps.next(maskedState(next.value.state, run));
  return next.done ? next.value : next.value.state;
}

/** What models write where the cap allows it. */
const USUAL_TOKENS = { history: 1_500, turnPrefix: 500 };
/** A summary is shorter than what it is of. */
const PROSE_SHARE = 0.5;

/**
 * The state with a summary of which the length is a guess; what is carried over behind it is known, and what would be lost if
 * its prose said nothing.
 */
function expectedState(run: Run, state: LadderState, summariser: SummariserSizes = {}) {
  const plan = state.plan!;
  const { terms: termsTokens, putBack: putBackTokens } = carriedTokens(plan, run);
  const { settings } = run;
  const empty = { prose: "", kept: plan.kept, settings, termsTokens, putBackTokens };
  const { carried, loss } = checkedCarryOver(carryOver(plan, run), empty);
  const { firstKeptEntryId } = plan;
  const summary = summaryText("", carried);
  const frame = { summary, prose: "", firstKeptEntryId, carried, fromHook: false, withProse: () => frame };
  const expected = summarisedState(state, frame);
  const [first, ...kept] = expected.view.items;
  const proseTokens = expectedProseTokens(state, run.budgets, summariser);
  const items = [{ ...first!, tokens: first!.tokens + proseTokens }, ...kept];
  const view = { ...expected.view, items };
  const tokens = viewTokens(items);
  return {
    expected: { ...expected, view, tokens, summary: undefined, rung: undefined },
    carried: carriedCounts(carried),
    ...(loss && { loss }),
  };
}

function expectedProseTokens(
  { plan, view: { estimator } }: LadderState,
  budgets: Budgets,
  summariser: SummariserSizes,
): number {
  const expected = (kind: "history" | "turnPrefix") => {
    const spanTokens = viewTokens(plan![kind]);
    const most = maxSummaryTokens(kind, summariser, budgets);
    return Math.min(most, USUAL_TOKENS[kind], Math.ceil(spanTokens * PROSE_SHARE));
  };
  const previousTokens = estimator.text(previousProse(plan!.previous) ?? "");
  return Math.max(previousTokens, expected("history")) + expected("turnPrefix");
}

/** What would be asked of a summariser; where it cannot be asked, the failure has the reason. */
function plannedRequests(
  run: Run,
  state: LadderState,
  summariser: SummariserSizes & Pick<Summariser, "name">,
): { plannedRequests: PlannedRequest[]; failures?: readonly RungFailure[] } {
  const { settings, budgets, focus, signal } = run;
  const { name, contextWindow, maxOutputTokens } = summariser;
  const summarise = () => Promise.reject(new Error("Plan only."));
  const job: SummaryJob = {
    summariser: { name, contextWindow, maxOutputTokens, summarise },
    estimator: state.view.estimator,
    signal,
    focus,
    onUsage: () => {},
  };
  const span = { plan: state.plan as CompactionPlan, job, settings, budgets };
  try {
    const whole = fitsWhole(span);
    const parts = spanParts(span).flatMap((part) => (whole ? [wholePart(part)] : expectedChunks(job, part)));
    return { plannedRequests: parts.map((part) => plannedRequest(job, part)) };
  } catch (error) {
    if (!(error instanceof SummaryFailure)) throw error;
    return { plannedRequests: [], failures: [{ rung: "chunks", message: error.message, overflow: true }] };
  }
}

/** Every part but the first begins with a summary of those before it. */
function expectedChunks(job: SummaryJob, part: SpanPart): SummaryPart[] {
  const found: SummaryPart[] = [];
  const summary = "word ".repeat(Math.min(part.maxSummaryTokens(), USUAL_TOKENS.history));
  const parts = chunkParts(job, part);
  for (let next = parts.next(); !next.done; next = parts.next(summary)) found.push(next.value);
  return found;
}

function plannedRequest(job: SummaryJob, part: SummaryPart): PlannedRequest {
  const { kind, prompt, maxSummaryTokens: maxOutputTokens } = summaryRequest(job, part);
  return { kind, inputTokens: promptTokens(prompt, job.estimator), maxOutputTokens };
}
