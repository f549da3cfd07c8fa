import { addUsage, BonsaiError, emptyUsage, type Usage } from "@bonsai-agent/messages";
import { summaryDetails } from "../carry/carry-over.ts";
import type { CompactionPreparation, CustomCompaction } from "../events.ts";
import { unseenFrom } from "../plan/cut.ts";
import { type CompactionPlan, dividedAt } from "../plan/plan.ts";
import type { Summariser } from "../summariser.ts";
import { type PreparedCompaction, preparedCompaction } from "./custom-summary.ts";
import {
  CompactionCancelled,
  climb,
  type LadderState,
  type PlannedSummary,
  type Run,
  type Rung,
} from "./ladder.ts";
import { chunksRung, digestRung, summariseRung } from "./summary-rungs.ts";

export interface SummarisePreparationOptions {
  /** As a `session_before_compact` event has it. */
  preparation: CompactionPreparation;
  /** Default: who would summarise without an extension. */
  summariser?: Summariser | undefined;
  /** What the summary should dwell on. Default: what the user said. */
  customInstructions?: string | undefined;
  /** `customInstructions` takes the place of the instructions; then no sections are expected. Default false. */
  replaceInstructions?: boolean | undefined;
  /**
   * Summarise what would be kept too, and keep nothing beside the summary but what the model has not answered yet: the
   * prompt or the tool results that its next request is about. Default false.
   */
  keepNothing?: boolean;
  /** Take a summary that is no shorter than what it stands for, too. Default false: it throws then. */
  mayGrow?: boolean;
  /** Default: that of the compaction alone. */
  signal?: AbortSignal | undefined;
}

/**
 * The summary that would have been made by this summariser without an extension, to be returned from
 * `session_before_compact` as it is or changed: history and turn prefix, earlier summary, sections, chunks, carry-over.
 * Nothing is written; what a failed attempt cost is counted with the compaction all the same.
 * @throws BonsaiError `summary_failed`, `preparation_unknown`; the signal's reason after an abort.
 */
export async function summarisePreparation(
  options: SummarisePreparationOptions,
): Promise<{ compaction: CustomCompaction }> {
  const source = preparedCompaction(options.preparation) ?? unknown();
  const paid: (Usage | undefined)[] = [];
  const onUsage = (each: Usage | undefined) => void paid.push(each);
  const made = await summaryOf(options, source, onUsage).catch((error: unknown) => {
    paid.forEach(source.run.onUsage);
    throw error;
  });
  const { summary, carried, prose, firstKeptEntryId } = made;
  const usages = paid.filter((each) => each !== undefined);
  return {
    compaction: {
      summary,
      firstKeptEntryId,
      tokensBefore: source.run.size.totalTokens,
      ...(carried === undefined ? {} : { details: summaryDetails(carried, prose) }),
      ...(usages.length === 0 ? {} : { usage: usages.reduce(addUsage, emptyUsage()) }),
    },
  };
}

async function summaryOf(
  options: SummarisePreparationOptions,
  { run, state }: PreparedCompaction,
  onUsage: Run["onUsage"],
): Promise<PlannedSummary> {
  const { customInstructions, replaceInstructions, keepNothing = false, mayGrow = false, signal } = options;
  const summariser = options.summariser ?? run.summariser ?? run.digest;
  const replaces = replaceInstructions && customInstructions !== undefined;
  const digests = summariser === run.digest || summariser?.isExtract === true;
  const plan = keepNothing ? allSummarised(state.plan!) : state.plan!;
  const asked: Run = {
    ...run,
    start: { ...state, plan, failures: [] },
    summariser: digests ? undefined : summariser,
    digest: digests ? summariser : undefined,
    ...(replaces ? { instructions: customInstructions } : { focus: customInstructions ?? run.focus }),
    signal: signal === undefined ? run.signal : AbortSignal.any([run.signal, signal]),
    onUsage,
  };
  const rungs = digests ? [digestRung] : [summariseRung, chunksRung];
  const reached = await climb(asked, mayGrow ? rungs.map(takenAsIs) : rungs).catch((error: unknown) => {
    if (error instanceof CompactionCancelled) asked.signal.throwIfAborted();
    throw error;
  });
  if (reached.summary === undefined) throw failed(reached, summariser?.name ?? "The summariser");
  return reached.summary;
}

/** As an extension's own summary is, whatever its size. */
function takenAsIs(rung: Rung): Rung {
  return {
    ...rung,
    async attempt(state, run) {
      const { summary, ...next } = await rung.attempt(state, run);
      return { ...next, summary: summary && { ...summary, fromHook: true } };
    },
  };
}

/** All but what the model has not answered yet, where that begins later than the plan's own cut. */
function allSummarised(plan: CompactionPlan): CompactionPlan {
  const items = [...plan.history, ...plan.turnPrefix, ...plan.kept];
  const index = unseenFrom(items.map(({ message }) => message));
  return index <= items.length - plan.kept.length ? plan : { ...plan, ...dividedAt(items, index) };
}

function failed({ failures }: LadderState, name: string): BonsaiError {
  const causes = failures.map(({ message }) => message).join(" | ") || "the settings do not allow it.";
  return new BonsaiError({
    code: "summary_failed",
    message: `${name} made no summary: ${causes}`,
    hint: "Return nothing to get the default summary, or summarise in another way.",
    cause: failures.at(-1)?.cause,
  });
}

function unknown(): never {
  throw new BonsaiError({
    code: "preparation_unknown",
    message: "The preparation does not come from a session_before_compact event.",
    hint: "Pass event.preparation unchanged.",
  });
}
