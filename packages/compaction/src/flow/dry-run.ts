import { carriedCounts, previousProse } from "../carry/carry-over.ts";
import {
  fitsWhole,
  maxSummaryTokens,
  promptTokens,
  RunCost,
  type SummariserSizes,
  summaryRequest,
  wholeSpan,
} from "../ladder/ask.ts";
import { plannedChunks } from "../ladder/chunks.ts";
import type { LadderState, Run } from "../ladder/run.ts";
import { jobFor, layDraft, spansOf } from "../ladder/summary-rungs.ts";
import { viewTokens, withoutSummary } from "../plan/view.ts";
import { type Summariser, SummaryFailure } from "../summariser.ts";
import { type CompactionResult, resultOf } from "./result.ts";

/** A summariser of a plan. It is not asked. */
export type PlannedSummariser = SummariserSizes & Pick<Summariser, "name" | "provider">;

/**
 * The expected result of a summary by the state's plan: that of an empty one, plus the expected length of its prose. The
 * carried data and their loss are known.
 */
export function plannedResult(
  run: Run,
  state: LadderState,
  summariser: PlannedSummariser | undefined,
): CompactionResult {
  const { firstKeptEntryId } = state.plan!;
  const draft = { prose: "", firstKeptEntryId, rung: "summarise" as const, focus: run.focus };
  const { summary, view, ...laid } = layDraft(state, draft, run);
  const [first, ...kept] = view.items;
  const tokens = first!.tokens + expectedProseTokens(state, run, summariser);
  const items = [{ ...first!, tokens }, ...kept];
  const expected = { ...laid, view: { ...view, items }, tokens: viewTokens(items) };
  const { carried, loss } = summary!;
  return {
    ...resultOf(run, { ...expected, summary: undefined, rung: undefined }, "planned"),
    carried: carriedCounts(carried),
    ...(loss && { loss }),
    ...(summariser && plannedRequests(run, state, summariser)),
  };
}

/** Usual lengths of models' summaries. */
const USUAL_TOKENS = { history: 1_500, turnPrefix: 500 };
/** A summary takes at most this share of its span. */
const PROSE_SHARE = 0.5;

function expectedProseTokens(
  { plan, view: { estimator } }: LadderState,
  { budgets }: Run,
  summariser: SummariserSizes = {},
): number {
  const expected = (kind: "history" | "turnPrefix") => {
    const share = Math.ceil(viewTokens(plan![kind]) * PROSE_SHARE);
    return Math.min(maxSummaryTokens(kind, summariser, budgets), USUAL_TOKENS[kind], share);
  };
  const previousTokens = estimator.text(previousProse(plan!.previous) ?? "");
  return Math.max(previousTokens, expected("history")) + expected("turnPrefix");
}

/** The request for a compaction on the provider's side; undefined if the provider would not be asked. */
function plannedProvider(
  run: Run,
  { plan, view }: LadderState,
  provider: Summariser["provider"],
): Pick<CompactionResult, "plannedRequests" | "provider"> | undefined {
  const isAsked = run.settings.summarizer.kind === "provider" && provider?.unavailable === undefined;
  if (provider === undefined || !isAsked || (run.focus !== undefined && provider.isSealed)) return undefined;
  const { history, turnPrefix } = plan!;
  const summaryTokens = viewTokens(view.items) - viewTokens(withoutSummary(view.items));
  const spanTokens = summaryTokens + viewTokens(history) + viewTokens(turnPrefix);
  const inputTokens =
    run.size.ofEstimate(spanTokens) + run.size.totalTokens - run.size.ofEstimate(run.start.tokens);
  const maxOutputTokens = USUAL_TOKENS.history + USUAL_TOKENS.turnPrefix;
  return {
    plannedRequests: [{ kind: "provider", inputTokens: Math.max(spanTokens, inputTokens), maxOutputTokens }],
    provider: { isSealed: provider.isSealed },
  };
}

/** The requests to a summariser, or the reason why it cannot be asked. */
function plannedRequests(
  run: Run,
  state: LadderState,
  { name, contextWindow, maxOutputTokens, provider }: PlannedSummariser,
): Partial<Pick<CompactionResult, "plannedRequests" | "failures" | "provider">> {
  const asked = plannedProvider(run, state, provider);
  if (asked !== undefined) return asked;
  const summarise = () => Promise.reject(new Error("Plan only."));
  const summariser = { name, contextWindow, maxOutputTokens, summarise };
  const job = { ...jobFor(state, run, summariser), cost: new RunCost() };
  const spans = spansOf(state);
  // Each chunk but the first begins with a summary of the chunks before.
  const summaryTokens = Math.min(maxSummaryTokens("history", summariser, run.budgets), USUAL_TOKENS.history);
  const summary = "word ".repeat(summaryTokens);
  try {
    const parts = fitsWhole(job, spans)
      ? spans.map((span) => wholeSpan(job, span))
      : spans.flatMap((span) => plannedChunks(job, span, summary));
    return {
      plannedRequests: parts.map((part) => {
        const { kind, prompt, maxSummaryTokens: maxOutputTokens } = summaryRequest(job, part);
        return { kind, inputTokens: promptTokens(prompt, job.estimator), maxOutputTokens };
      }),
    };
  } catch (error) {
    if (!(error instanceof SummaryFailure)) throw error;
    return { plannedRequests: [], failures: [{ rung: "chunks", message: error.message, overflow: true }] };
  }
}
