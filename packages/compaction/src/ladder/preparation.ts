import { BonsaiError } from "@bonsai-agent/messages";
import { summaryDetails } from "../carry/carry-over.ts";
import type { CompactionPreparation, CustomCompaction } from "../events.ts";
import { type CompactionPlan, splitAt, unseenFrom } from "../plan/cut.ts";
import type { Summariser } from "../summariser.ts";
import { RunCost } from "./ask.ts";
import { preparedCompaction } from "./extension-rung.ts";
import { climb } from "./ladder.ts";
import { type ClimbResult, CompactionCancelled, type LaidSummary, type Run } from "./run.ts";
import { chunksRung, digestRung, summariseRung } from "./summary-rungs.ts";

export interface SummarisePreparationOptions {
  /** From a `session_before_compact` event. */
  preparation: CompactionPreparation;
  /** Default: the summariser that the compaction would use without an extension. */
  summariser?: Summariser | undefined;
  /** Topics that the summary must emphasise. Default: the user's focus. */
  customInstructions?: string | undefined;
  /** True if `customInstructions` replaces the instructions; the answer then needs no sections. Default: false. */
  replaceInstructions?: boolean | undefined;
  /**
   * Summarises the kept messages too, except those that the model has not answered yet: the prompt or the tool results
   * of its next request. Default: false.
   */
  keepNothing?: boolean;
  /** Accepts a summary that is not shorter than the messages. Default: false, which throws. */
  mayGrow?: boolean;
  /** Default: only the compaction's own signal cancels. */
  signal?: AbortSignal | undefined;
}

/**
 * Makes the summary that the compaction would make without an extension: chunks, earlier summary and carried data included.
 * Return it from `session_before_compact`, unchanged or with another prose; edits of the carried blocks are ignored. Writes
 * nothing. The cost of a failed attempt is added to the compaction.
 * @throws BonsaiError `summary_failed`, `preparation_unknown`; the signal's reason after an abort
 */
export async function summarisePreparation(
  options: SummarisePreparationOptions,
): Promise<{ compaction: CustomCompaction }> {
  const source = preparedCompaction(options.preparation);
  const cost = new RunCost();
  try {
    const { draft, text, carried } = await preparedSummary(options, source, cost);
    const { prose, firstKeptEntryId, isExtract } = draft;
    const details = { ...summaryDetails(carried, prose), ...(isExtract && { isExtract }) };
    const tokensBefore = source.run.size.totalTokens;
    const usage = cost.usage && { usage: cost.usage };
    return { compaction: { summary: text, firstKeptEntryId, tokensBefore, details, ...usage } };
  } catch (error) {
    source.run.cost.include(cost);
    throw error;
  }
}

async function preparedSummary(
  options: SummarisePreparationOptions,
  { run, state }: ClimbResult,
  cost: RunCost,
): Promise<LaidSummary> {
  const { customInstructions, replaceInstructions, keepNothing = false, mayGrow, signal } = options;
  const summariser = options.summariser ?? run.summariser ?? run.digest;
  const isDigest = summariser === run.digest || summariser?.isExtract === true;
  const plan = keepNothing ? allSummarised(state.plan!) : state.plan!;
  const asked: Run = {
    ...run,
    start: { ...state, plan, failures: [] },
    summariser: isDigest ? undefined : summariser,
    digest: isDigest ? summariser : undefined,
    ...(replaceInstructions && customInstructions !== undefined
      ? { instructions: customInstructions }
      : { focus: customInstructions ?? run.focus }),
    signal: signal === undefined ? run.signal : AbortSignal.any([run.signal, signal]),
    cost,
    mayGrow,
  };
  const rungs = isDigest ? [digestRung] : [summariseRung, chunksRung];
  const { summary, failures } = await climb(asked, rungs).catch((error: unknown) => {
    if (error instanceof CompactionCancelled) asked.signal.throwIfAborted();
    throw error;
  });
  if (summary !== undefined) return summary;
  const causes = failures.map(({ message }) => message).join(" | ") || "the settings do not allow it.";
  throw new BonsaiError({
    code: "summary_failed",
    message: `${summariser?.name ?? "The summariser"} made no summary: ${causes}`,
    hint: "Return nothing to get the default summary, or summarise in another way.",
    cause: failures.at(-1)?.cause,
  });
}

/** The plan that keeps only unanswered messages, if they begin later than its own cut. */
function allSummarised(plan: CompactionPlan): CompactionPlan {
  const items = [...plan.history, ...plan.turnPrefix, ...plan.kept];
  const index = unseenFrom(items.map(({ message }) => message));
  return index <= items.length - plan.kept.length ? plan : { ...plan, ...splitAt(items, index) };
}
