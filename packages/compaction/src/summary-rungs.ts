import { byScript } from "@bonsai-agent/messages";
import type { SummaryJob } from "./ask-summary.ts";
import { latestRequestChars } from "./budget.ts";
import { type CarryOver, carryOver } from "./carry-over.ts";
import { CompactionCancelled } from "./compaction-cancelled.ts";
import { originalMessage, viewTokens } from "./context-view.ts";
import { customSummary } from "./custom-summary.ts";
import { boundedCarryOver } from "./extension-carry-over.ts";
import { fileOperations } from "./file-operations.ts";
import { ownDetails } from "./own-details.ts";
import { rememberPrepared } from "./prepared-compactions.ts";
import type { LadderContext, LadderState, PlannedSummary, Rung, RungFailure } from "./rung.ts";
import {
  fitsWhole,
  type SpanOptions,
  summariseChunked,
  summariseWhole,
  summariseWithin,
} from "./summarise-span.ts";
import { summarisedState } from "./summarised-state.ts";
import type { Summariser } from "./summariser.ts";
import { highTokens } from "./summary-sizes.ts";
import { previousProse, summaryText } from "./summary-text.ts";

/** Asks the extensions: one may cancel, or supply the summary. */
export const extensionRung: Rung = {
  name: "extension",
  applies: isPlanned,
  async attempt(state, context) {
    const result = await context.hooks.beforeCompact(() => ({
      preparation: rememberPrepared(preparation(state, context), { state, context }),
      branchEntries: context.branchEntries,
      ...(context.focus === undefined ? {} : { customInstructions: context.focus }),
    }));
    if (context.signal.aborted) throw new CompactionCancelled("It was aborted.");
    if (result.cancel)
      throw new CompactionCancelled(result.reason ?? "An extension cancelled it.", result.by?.cancel);
    const { windowTokens } = context.budgets;
    const carryOver = boundedCarryOver(result.carryOver, windowTokens);
    const asked = Object.keys(carryOver).length === 0 ? state : { ...state, carryOver };
    if (result.compaction === undefined) return asked;
    return { ...customSummary(asked, result.compaction, context.pinned), madeBy: result.by?.compaction };
  },
};

/** One request for each span, to the model. */
export const summariseRung: Rung = {
  name: "summarise",
  applies: (state, context) =>
    isPlanned(state) &&
    context.summariser !== undefined &&
    fitsWhole(spanOptions(state, context, context.summariser)),
  attempt: (state, context) => summarised(state, context, context.summariser!, summariseWhole),
};

/** Several requests, each updating the last: when one is too long for the model. */
export const chunksRung: Rung = {
  name: "chunks",
  applies: (state, context) => isPlanned(state) && context.summariser !== undefined && wasTooLong(state),
  attempt: (state, context) => {
    const wasRefused = state.failures.some(isRefusal);
    return summarised(state, context, context.summariser!, (options) =>
      summariseChunked({ ...options, wasRefused }),
    );
  },
};

/** The deterministic summariser: always there for those without a model, else where the policy says so. */
export const digestRung: Rung = {
  name: "digest",
  applies: (state, context) => isPlanned(state) && context.digest !== undefined && digestIsAllowed(context),
  attempt: (state, context) => {
    // It asks no model, so it costs nothing; and what it says of a short span must be shorter.
    const free = { ...context, onUsage: () => {} };
    return summarised(state, free, context.digest!, (options, carried) =>
      summariseWithin({ ...options, maxTokens: Math.min(digestTokens(state), proseRoom(carried, context)) }),
    );
  },
};

const MINIMUM_DIGEST_TOKENS = 600;
const DIGEST_SHARE = 0.5;
/**
 * What a digest may take of the context, frame and carry-over included, so that 4,000 hold even where the count is low;
 * only a long request may push it further.
 */
const DIGEST_SUMMARY_TOKENS = 4_050;
const MINIMUM_PROSE_TOKENS = 1_500;

/** What the digest of a span may be at most, to be shorter than what it stands for. */
function digestTokens({ plan }: LadderState): number {
  const spanTokens = viewTokens([...plan!.history, ...plan!.turnPrefix]);
  const previousTokens = highTokens(previousProse(plan!.previous) ?? "");
  return Math.max(MINIMUM_DIGEST_TOKENS, Math.floor(previousTokens + spanTokens * DIGEST_SHARE));
}

/** What is left for the prose beside all that we put around it; in a small window, a quarter of it for both. */
function proseRoom(carried: CarryOver, { budgets }: LadderContext): number {
  const { windowTokens = Number.POSITIVE_INFINITY } = budgets;
  const quarter = Math.max(MINIMUM_DIGEST_TOKENS, Math.floor(windowTokens / 4));
  const totalTokens = Math.min(DIGEST_SUMMARY_TOKENS, quarter);
  const minimumTokens = Math.min(MINIMUM_PROSE_TOKENS, Math.floor(totalTokens / 2));
  return Math.max(minimumTokens, totalTokens - byScript(summaryText("", { ...carried, extensions: {} })));
}

function isPlanned({ plan, summary }: LadderState): boolean {
  return plan?.status === "planned" && summary === undefined;
}

/** Either the whole was never tried, because it does not fit, or the model found it too long. */
function wasTooLong({ failures }: LadderState): boolean {
  return !failures.some(({ rung }) => rung === "summarise") || failures.some(isRefusal);
}

function isRefusal({ rung, overflow }: RungFailure): boolean {
  return rung === "summarise" && overflow === true;
}

function digestIsAllowed({ summariser, reason, settings }: LadderContext): boolean {
  if (summariser === undefined) return true;
  const { fallback } = settings.summarizer;
  return fallback === "always" || (fallback === "overflow" && reason === "overflow");
}

async function summarised(
  state: LadderState,
  context: LadderContext,
  summariser: Summariser,
  summarise: (options: SpanOptions, carried: CarryOver) => Promise<string>,
): Promise<LadderState> {
  const plan = state.plan!;
  const own = carryOver({
    plan,
    pinned: context.pinned,
    latestRequestChars: latestRequestChars(context.budgets),
  });
  const carried = { ...own, ...(state.carryOver && { extensions: state.carryOver }) };
  const prose = await summarise(spanOptions(state, context, summariser), carried);
  const summary: PlannedSummary = {
    summary: summaryText(prose, carried),
    prose,
    firstKeptEntryId: plan.firstKeptEntryId,
    carried,
    fromHook: false,
  };
  return summarisedState(state, summary);
}

function spanOptions(state: LadderState, context: LadderContext, summariser: Summariser): SpanOptions {
  const { signal, focus, instructions, onUsage, settings, budgets, reason } = context;
  // What has just been refused as too long must not be sent again.
  const mayUseContext = reason !== "overflow" && instructions === undefined;
  const job: SummaryJob = {
    summariser,
    estimator: state.view.estimator,
    signal,
    focus,
    instructions,
    echoedTags: Object.keys(ownDetails(state.plan!.previous).carryOver ?? {}),
    mayUseContext,
    onUsage,
  };
  return { plan: state.plan!, job, settings, budgets };
}

function preparation({ plan }: LadderState, context: LadderContext) {
  const { history, turnPrefix, previous, splitTurn, firstKeptEntryId } = plan!;
  const { reserveTokens, keepTokens: keepRecentTokens } = context.budgets;
  const previousSummary = previousProse(previous);
  const { read, modified } = fileOperations([...history, ...turnPrefix].map(originalMessage));
  return {
    firstKeptEntryId,
    messagesToSummarize: history.map(originalMessage),
    turnPrefixMessages: turnPrefix.map(originalMessage),
    isSplitTurn: splitTurn,
    tokensBefore: context.tokensBefore,
    ...(previousSummary === undefined ? {} : { previousSummary }),
    fileOps: { read, modified },
    // A copy: what handlers get is frozen.
    settings: { ...context.settings, reserveTokens, keepRecentTokens },
  };
}
