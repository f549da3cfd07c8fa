import { addUsage, BonsaiError, emptyUsage, type Usage } from "@bonsai-agent/messages";
import { CompactionCancelled } from "./compaction-cancelled.ts";
import { isDigest } from "./digest.ts";
import type { CompactionPreparation, CustomCompaction } from "./events.ts";
import { tryRung } from "./ladder.ts";
import type { CompactionPlan } from "./plan.ts";
import { type PreparedCompaction, preparedCompaction } from "./prepared-compactions.ts";
import type { LadderContext, LadderState, PlannedSummary, Rung } from "./rung.ts";
import type { Summariser } from "./summariser.ts";
import { summaryDetails } from "./summary-details.ts";
import { chunksRung, digestRung, summariseRung } from "./summary-rungs.ts";

export interface SummarisePreparationOptions {
  /** As a `session_before_compact` event has it. */
  preparation: CompactionPreparation;
  summariser: Summariser;
  /** What the summary should dwell on. Default: what the user said. */
  customInstructions?: string | undefined;
  /** `customInstructions` takes the place of the instructions; then no sections are expected. Default false. */
  replaceInstructions?: boolean | undefined;
  /** Summarise what would be kept too, and keep nothing beside the summary. Default false. */
  keepNothing?: boolean;
  /** Default: that of the compaction alone. */
  signal?: AbortSignal | undefined;
}

/**
 * The summary that would have been made by this summariser without an extension, to be returned from
 * `session_before_compact` as it is or changed: history and turn prefix, earlier summary, sections, chunks, carry-over.
 * Nothing is written.
 * @throws BonsaiError `summary_failed`, `preparation_unknown`; the signal's reason after an abort.
 */
export async function summarisePreparation(
  options: SummarisePreparationOptions,
): Promise<{ compaction: CustomCompaction }> {
  const source = preparedCompaction(options.preparation) ?? unknown();
  let usage: Usage | undefined;
  const onUsage = (each: Usage | undefined) => {
    if (each !== undefined) usage = addUsage(usage ?? emptyUsage(), each);
  };
  const { summary, firstKeptEntryId } = await summaryOf(options, source, onUsage);
  const { carried, prose } = summary;
  return {
    compaction: {
      summary: summary.summary,
      firstKeptEntryId,
      tokensBefore: source.context.tokensBefore,
      ...(carried === undefined ? {} : { details: summaryDetails(carried, prose) }),
      ...(usage === undefined ? {} : { usage }),
    },
  };
}

async function summaryOf(
  options: SummarisePreparationOptions,
  source: PreparedCompaction,
  onUsage: LadderContext["onUsage"],
): Promise<{ summary: PlannedSummary; firstKeptEntryId: string | null }> {
  const { context } = source;
  const { summariser, customInstructions, replaceInstructions, keepNothing = false, signal } = options;
  const replaces = replaceInstructions && customInstructions !== undefined;
  const digests = isDigest(summariser);
  const asked: LadderContext = {
    ...context,
    summariser: digests ? undefined : summariser,
    digest: digests ? summariser : undefined,
    ...(replaces
      ? { focus: context.focus, instructions: customInstructions }
      : { focus: customInstructions ?? context.focus }),
    signal: signal === undefined ? context.signal : AbortSignal.any([context.signal, signal]),
    onUsage,
  };
  const plan = keepNothing ? allSummarised(source.state.plan!) : source.state.plan!;
  const rungs = digests ? [digestRung] : [summariseRung, chunksRung];
  const reached = await climbed(rungs, { ...source.state, plan, failures: [] }, asked);
  if (reached.summary === undefined) throw failed(reached, summariser);
  return { summary: reached.summary, firstKeptEntryId: plan.firstKeptEntryId };
}

async function climbed(
  rungs: readonly Rung[],
  start: LadderState,
  context: LadderContext,
): Promise<LadderState> {
  let state = start;
  try {
    for (const rung of rungs) {
      context.signal.throwIfAborted();
      if (rung.applies(state, context)) state = await tryRung(rung, state, context);
    }
    return state;
  } catch (error) {
    if (error instanceof CompactionCancelled) context.signal.throwIfAborted();
    throw error;
  }
}

function allSummarised(plan: CompactionPlan): CompactionPlan {
  const history = [...plan.history, ...plan.turnPrefix, ...plan.kept];
  return { ...plan, history, turnPrefix: [], kept: [], splitTurn: false, firstKeptEntryId: null };
}

function failed({ failures }: LadderState, { name }: Summariser): BonsaiError {
  const causes = failures.map(({ message }) => message).join(" | ") || "it is left out by the settings.";
  return new BonsaiError({
    code: "summary_failed",
    message: `${name} made no summary: ${causes}`,
    hint: "Return nothing, so that the default summary is made, or summarise in another way.",
    cause: failures.at(-1)?.cause,
  });
}

function unknown(): never {
  throw new BonsaiError({
    code: "preparation_unknown",
    message: "This preparation is not that of a session_before_compact event.",
    hint: "Give event.preparation as it came, with its own messagesToSummarize.",
  });
}
