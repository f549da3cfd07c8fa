import { byScript } from "@bonsai-agent/messages";
import { inert } from "@bonsai-agent/messages/marks";
import { type CarryOver, carriedTokens, carryOver, replacedTokens } from "../carry/carry-over.ts";
import { storedDetails } from "../carry/details.ts";
import { type CheckedCarryOver, checkedCarryOver } from "../carry/loss-check.ts";
import { otherClosings, sessionSecrets, spanRecord } from "../carry/span-record.ts";
import { safeProse, summaryText } from "../carry/summary-text.ts";
import type { CompactionPlan } from "../plan/plan.ts";
import { digestStandsIn } from "../settings.ts";
import type { Summariser } from "../summariser.ts";
import type { SummaryJob } from "./ask-summary.ts";
import {
  isPlanned,
  type LadderState,
  type PlannedSummary,
  type Run,
  type Rung,
  type RungFailure,
  summarisedState,
} from "./ladder.ts";
import {
  fitsWhole,
  type SpanOptions,
  summariseChunked,
  summariseWhole,
  summariseWithin,
} from "./summarise.ts";

/** One request for each span, to the model. */
export const summariseRung: Rung = {
  name: "summarise",
  applies: (state, run) =>
    isPlanned(state) && run.summariser !== undefined && fitsWhole(spanOptions(state, run, run.summariser)),
  attempt: (state, run) => summarised(state, run, run.summariser!, summariseWhole),
};

/** Several requests, each updating the last: when one is too long for the model. */
export const chunksRung: Rung = {
  name: "chunks",
  applies: (state, run) => isPlanned(state) && run.summariser !== undefined && wasTooLong(state),
  attempt: (state, run) => {
    const wasRefused = state.failures.some(isRefusal);
    return summarised(state, run, run.summariser!, (options) => summariseChunked(options, wasRefused));
  },
};

/** The deterministic summariser: always there for those without a model, else where the policy says so. */
export const digestRung: Rung = {
  name: "digest",
  applies: (state, run) => isPlanned(state) && run.digest !== undefined && digestIsAllowed(run),
  attempt: (state, run) => {
    // It asks no model, so it costs nothing; and a short span needs a digest that is shorter still.
    const free = { ...run, onUsage: () => {} };
    return summarised(state, free, run.digest!, (options, carried) =>
      summariseWithin(options, proseTokens(carried, state, run)),
    );
  },
};

/**
 * What a digest may take of the context, with the frame and all that is carried over. A past of more than so many
 * compactions takes more for each. Only a long request adds to it.
 */
const DIGEST = { tokens: 5_750, free: 4, perCompaction: 390, mostTokens: 7_300, leastTokens: 600 };
/** Of a window, and of what is summarised anew: a digest has to shrink the context. */
const DIGEST_SHARE = { window: 0.15, span: 0.6, shortSpan: 0.8 };
/** Of what is left beside the user's words, this may be records; the rest is what the agent said. */
const RECORDS_SHARE = 0.6;
const MINIMUM_PROSE_TOKENS = 1_300;
/** A digest has no notes that name things, so its index names more, until a long past has more to say. */
const DIGEST_TERMS = 1.4;

function digestTokens({ record }: CarryOver, { plan }: LadderState, { budgets }: Run): number {
  const { windowTokens = Number.POSITIVE_INFINITY } = budgets;
  const { previousTokens, newTokens } = replacedTokens(plan!);
  const { tokens, free, perCompaction, mostTokens, leastTokens } = DIGEST;
  const most = Math.min(tokens + perCompaction * Math.max(0, record.spans - free), mostTokens);
  const window = Math.floor(windowTokens * DIGEST_SHARE.window);
  const span = Math.floor(previousTokens + newTokens * DIGEST_SHARE.span);
  const least = Math.min(leastTokens, Math.floor((previousTokens + newTokens) * DIGEST_SHARE.shortSpan));
  return Math.min(most, Math.max(least, window), Math.max(least, span));
}

/** What is left for the prose beside all that we put around it. */
function proseTokens(carried: CarryOver, state: LadderState, run: Run): number {
  const share = carried.wordsTokens > 0 ? RECORDS_SHARE : 1;
  const most = Math.floor(share * leftTokens("", carried, state, run));
  return Math.max(Math.min(MINIMUM_PROSE_TOKENS, digestTokens(carried, state, run) / 2), most);
}

function leftTokens(prose: string, carried: CarryOver, state: LadderState, run: Run): number {
  const text = summaryText(prose, { ...carried, extensions: {} });
  const most = digestTokens(carried, state, run);
  return Math.max(0, most - byScript(text) - digestTermsTokens(carried, state.plan!, run));
}

function digestTermsTokens({ record }: CarryOver, plan: CompactionPlan, run: Run): number {
  const share = record.spans > DIGEST.free ? 1 : DIGEST_TERMS;
  return Math.floor(carriedTokens(plan, run).terms * share);
}

/** What the agent said stands between the user's words, in order: each may take the other back. */
function withClosings(prose: string, carried: CarryOver, state: LadderState, run: Run): CarryOver {
  if (carried.wordsTokens === 0) return carried;
  const left = leftTokens(prose, carried, state, run);
  return { ...carried, closings: otherClosings(carried.record, left, run.focus) };
}

/** Either the whole was never tried, because it does not fit, or the model found it too long. */
function wasTooLong({ failures }: LadderState): boolean {
  return !failures.some(({ rung }) => rung === "summarise") || failures.some(isRefusal);
}

function isRefusal({ rung, overflow }: RungFailure): boolean {
  return rung === "summarise" && overflow === true;
}

function digestIsAllowed({ summariser, reason, settings, isBackground }: Run): boolean {
  // It is made in no time: nobody waits for it, and so nobody makes it before it is needed.
  if (isBackground) return false;
  return summariser === undefined || digestStandsIn(settings, reason);
}

async function summarised(
  state: LadderState,
  run: Run,
  summariser: Summariser,
  summarise: (options: SpanOptions, carried: CarryOver) => Promise<string>,
): Promise<LadderState> {
  const plan = state.plan!;
  const known = { ...carryOver(plan, run), ...(state.carryOver && { extensions: state.carryOver }) };
  const prose = sessionSecrets(run).text(await summarise(spanOptions(state, run, summariser), known));
  const { firstKeptEntryId } = plan;
  const withCarryOver = (carried: CarryOver) => {
    const checked = checkedSummary(prose, carried, { state, run, summariser });
    return summarisedState(state, { ...plannedSummary(prose, checked, { plan, run }), firstKeptEntryId });
  };
  const next = withCarryOver(known);
  // Beside a short span, the user's words stay only if they fit.
  if (!known.isBrief || next.tokens < state.tokens) return next;
  return withCarryOver({ ...known, wordsTokens: 0 });
}

/** A summary of ours, which can be edited: what it carries is data, and what it left out is looked for anew. */
export function plannedSummary(
  prose: string,
  { carried, loss }: CheckedCarryOver,
  by: { plan: CompactionPlan; run: Run },
): PlannedSummary {
  const { firstKeptEntryId } = by.plan;
  const withProse = (text: string) => {
    const tags = Object.keys(carried.extensions ?? {});
    const redacted = sessionSecrets(by.run).text(text);
    const edited = by.plan.splitTurn ? safeProse(redacted, tags) : inert(redacted, tags);
    return plannedSummary(edited, checkedAgain(edited, carried, by), by);
  };
  return {
    summary: summaryText(prose, carried),
    prose,
    firstKeptEntryId,
    carried,
    loss,
    fromHook: false,
    withProse,
  };
}

function checkedAgain(
  prose: string,
  carried: CarryOver,
  { plan, run }: { plan: CompactionPlan; run: Run },
): CheckedCarryOver {
  const { terms: termsTokens, putBack: putBackTokens } = carriedTokens(plan, run);
  const unchecked = { ...carried, terms: [], putBack: [] };
  const { settings } = run;
  return checkedCarryOver(unchecked, { prose, kept: plan.kept, settings, termsTokens, putBackTokens });
}

interface Made {
  state: LadderState;
  run: Run;
  summariser: Summariser;
}

/** An extract has by its making what is put back behind another summary, and quotes the agent besides. */
function checkedSummary(prose: string, known: CarryOver, { state, run, summariser }: Made) {
  const plan = state.plan!;
  const { kept } = plan;
  const { settings } = run;
  const most = carriedTokens(plan, run);
  const asked = { prose, kept, settings, termsTokens: most.terms, putBackTokens: most.putBack };
  if (summariser.isExtract !== true) return checkedCarryOver(known, asked);
  const termsTokens = digestTermsTokens(known, plan, run);
  return checkedCarryOver(withClosings(prose, known, state, run), {
    ...asked,
    termsTokens,
    putBackTokens: 0,
  });
}

function spanOptions(state: LadderState, run: Run, summariser: Summariser): SpanOptions {
  const { signal, focus, instructions, onUsage, settings, budgets, reason, former } = run;
  const plan = state.plan!;
  // What has just been refused as too long must not be sent again; and what is made anew is not in the context.
  const mayUseContext = reason !== "overflow" && instructions === undefined && former === undefined;
  const job: SummaryJob = {
    summariser,
    estimator: state.view.estimator,
    signal,
    focus,
    instructions,
    echoedTags: Object.keys(storedDetails(plan.previous).carryOver),
    mayUseContext,
    record: spanRecord(plan, run),
    secrets: sessionSecrets(run),
    areWordsCarried: carriedTokens(plan, run).words > 0,
    onUsage,
  };
  return { plan, job, settings, budgets };
}
