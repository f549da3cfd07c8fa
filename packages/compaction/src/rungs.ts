import { clippedClosings, lastAnswer } from "@bonsai-agent/digest";
import { byScript, type UserContent } from "@bonsai-agent/messages";
import type { SummaryJob } from "./ask-summary.ts";
import { highTokens } from "./budget.ts";
import { type CarryOver, carriedTokens, carryOver, latestRequestChars } from "./carry-over.ts";
import { extensionRung } from "./custom-summary.ts";
import { isDigest } from "./digest.ts";
import {
  isPlanned,
  type LadderState,
  type PlannedSummary,
  type Run,
  type Rung,
  type RungFailure,
  summarisedState,
} from "./ladder.ts";
import { checkedCarryOver } from "./loss-check.ts";
import { ownDetails } from "./outcome.ts";
import { type CompactionPlan, freedBy, latestAnswer, type MaskedItem, planMasks } from "./plan.ts";
import { digestStandsIn } from "./settings.ts";
import { spanRecord } from "./span-record.ts";
import {
  fitsWhole,
  type SpanOptions,
  summariseChunked,
  summariseWhole,
  summariseWithin,
} from "./summarise.ts";
import type { Summariser } from "./summariser.ts";
import { previousProse, summaryText } from "./summary-text.ts";
import {
  contentOf,
  isOutput,
  type PlannedEdit,
  roleTraits,
  truncated,
  type ViewItem,
  viewTokens,
  withEdits,
} from "./view.ts";

/** Masks old outputs and shortens what commands of the user printed; an extension may veto, or keep some of them. */
const maskRung: Rung = {
  name: "mask",
  applies: (state, run) => masksFor(state, run).length > 0,
  async attempt(state, run) {
    const masks = masksFor(state, run);
    const { cancel, keep = [] } = await decidedMasks(masks, run);
    return cancel ? state : withMasks(state, masks, keep);
  },
};

function masksFor({ view }: LadderState, { settings, span }: Run): readonly MaskedItem[] {
  return planMasks(view, settings.mask, span.commandTokens);
}

async function decidedMasks(
  masks: readonly MaskedItem[],
  { lifecycle, reason, signal }: Run,
): Promise<{ cancel?: boolean; keep?: readonly string[] }> {
  const results = masks.map(({ item: { entryId, message, tokens } }) => ({
    entryId,
    toolName: message.role === "toolResult" ? message.toolName : "",
    tokens,
  }));
  const type = "session_before_mask" as const;
  const payload = { type, results, freedTokens: freedBy(masks), reason, signal };
  const decision = await lifecycle?.decide(type, payload, { signal });
  return decision?.result ?? {};
}

function withMasks(
  state: LadderState,
  masks: readonly MaskedItem[],
  keep: readonly string[] = [],
): LadderState {
  const kept = new Set(keep);
  return edited(
    state,
    masks.map(({ edit }) => edit).filter(({ entryId }) => !kept.has(entryId)),
  );
}

/** What the mask rung brings where no extension is asked. */
export function maskedState(state: LadderState, run: Run): LadderState {
  return { ...withMasks(state, masksFor(state, run)), rung: maskRung.name };
}

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
      summariseWithin(options, Math.min(digestTokens(state), proseTokens(carried, state, run))),
    );
  },
};

const MINIMUM_DIGEST_TOKENS = 600;
const DIGEST_SHARE = 0.5;
/**
 * What a digest may take of the context, with the frame and all that is carried over. A past of more than so many
 * compactions takes more for each. Only a long request adds to it.
 */
const DIGEST_SUMMARY = { tokens: 5_750, free: 4, perCompaction: 390, mostTokens: 7_300 };
/** Of what is left beside the user's words, this may be records; the rest is what the agent said. */
const RECORDS_SHARE = 0.6;
const MINIMUM_PROSE_TOKENS = 1_300;

/** What the digest of a span may be at most, to be shorter than what it stands for. */
function digestTokens({ plan }: LadderState): number {
  const spanTokens = viewTokens([...plan!.history, ...plan!.turnPrefix]);
  const previousTokens = highTokens(previousProse(plan!.previous) ?? "");
  return Math.max(MINIMUM_DIGEST_TOKENS, Math.floor(previousTokens + spanTokens * DIGEST_SHARE));
}

/** What is left for the prose beside all that we put around it; in a small window, a quarter of it for all. */
function proseTokens(carried: CarryOver, state: LadderState, run: Run): number {
  const share = carried.wordsTokens > 0 ? RECORDS_SHARE : 1;
  const most = Math.floor(share * leftTokens("", carried, state, run));
  return Math.max(Math.min(MINIMUM_PROSE_TOKENS, digestSummaryTokens(carried, run) / 2), most);
}

function leftTokens(prose: string, carried: CarryOver, { plan }: LadderState, run: Run): number {
  const text = summaryText(prose, { ...carried, extensions: {} });
  return Math.max(0, digestSummaryTokens(carried, run) - sizeOf(text) - digestTermsTokens(plan!, run));
}

/** By the higher of two counts: neither is right for every model. */
function sizeOf(text: string): number {
  return Math.max(byScript(text), Math.ceil(text.length / CHARS_PER_TOKEN));
}

const CHARS_PER_TOKEN = 3.3;

/** A digest has no notes that name things, so its index names more. */
function digestTermsTokens(plan: CompactionPlan, run: Run): number {
  return Math.floor(carriedTokens(plan, run).terms * DIGEST_TERMS);
}

const DIGEST_TERMS = 1.4;

function digestSummaryTokens({ record }: CarryOver, { budgets }: Run): number {
  const { windowTokens = Number.POSITIVE_INFINITY } = budgets;
  const quarter = Math.max(MINIMUM_DIGEST_TOKENS, Math.floor(windowTokens / 4));
  const { tokens, free, perCompaction, mostTokens } = DIGEST_SUMMARY;
  const longer = perCompaction * Math.max(0, record.spans - free);
  return Math.min(tokens + longer, mostTokens, quarter);
}

/** What the agent said stands between the user's words, in order: each may take the other back. */
function withClosings(prose: string, carried: CarryOver, state: LadderState, run: Run): CarryOver {
  const { closings } = carried.record;
  if (carried.wordsTokens === 0) return carried;
  const left = Math.min(leftTokens(prose, carried, state, run), digestTokens(state) - byScript(prose));
  const last = lastAnswer(closings);
  const others = closings.filter((closing) => closing !== last);
  return { ...carried, closings: clippedClosings(others, Math.max(0, left), run.focus) };
}

/** Either the whole was never tried, because it does not fit, or the model found it too long. */
function wasTooLong({ failures }: LadderState): boolean {
  return !failures.some(({ rung }) => rung === "summarise") || failures.some(isRefusal);
}

function isRefusal({ rung, overflow }: RungFailure): boolean {
  return rung === "summarise" && overflow === true;
}

function digestIsAllowed({ summariser, reason, settings }: Run): boolean {
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
  const prose = await summarise(spanOptions(state, run, summariser), known);
  const mayPutBack = !isDigest(summariser);
  const told = mayPutBack ? known : withClosings(prose, known, state, run);
  const termsTokens = mayPutBack ? carriedTokens(plan, run).terms : digestTermsTokens(plan, run);
  const { carried, loss } = checkedCarryOver(told, { prose, plan, run, mayPutBack, termsTokens });
  const summary: PlannedSummary = {
    summary: summaryText(prose, carried),
    prose,
    firstKeptEntryId: plan.firstKeptEntryId,
    carried,
    loss,
    fromHook: false,
  };
  return summarisedState(state, summary);
}

function spanOptions(state: LadderState, run: Run, summariser: Summariser): SpanOptions {
  const { signal, focus, instructions, onUsage, settings, budgets, reason } = run;
  const plan = state.plan!;
  // What has just been refused as too long must not be sent again.
  const mayUseContext = reason !== "overflow" && instructions === undefined;
  const job: SummaryJob = {
    summariser,
    estimator: state.view.estimator,
    signal,
    focus,
    instructions,
    echoedTags: Object.keys(ownDetails(plan.previous).carryOver ?? {}),
    mayUseContext,
    record: spanRecord(plan, run),
    areWordsCarried: carriedTokens(plan, run).words > 0,
    onUsage,
  };
  return { plan, job, settings, budgets };
}

/** Lengths that tool results are cut to, in characters: the longest that suffices is taken. */
const TRUNCATED_CHARS = [64_000, 32_000, 16_000, 8_000, 4_000, 2_000];
/** What does not fit after an overflow, or could not be sent, ends the run. */
const SHORTEST_CHARS = [...TRUNCATED_CHARS, 1_000, 500, 200];

/** Replaces images by a mark. */
const dropMediaRung: Rung = {
  name: "media",
  applies: (state, run) => mayLose(state, run) && state.view.items.some(hasMedia),
  async attempt(state) {
    return edited(state, state.view.items.filter(hasMedia).map(withoutMedia));
  },
};

/**
 * Cuts the largest remaining tool results and outputs of commands to head and tail; then, if need be, pasted text. What
 * the model has not seen yet is cut last, and by a threshold only where it would not fit the window otherwise.
 */
const truncateRung: Rung = {
  name: "truncate",
  applies: (state, run) => mayLose(state, run) && passes(state, run).some(({ of }) => of.length > 0),
  async attempt(state, run) {
    let next = state;
    const isForced = run.reason === "overflow" || isUnsendable(state, run);
    const lengths = isForced ? SHORTEST_CHARS : TRUNCATED_CHARS;
    const latest = latestRequest(state);
    for (const { of, latestChars, targetTokens } of passes(state, run)) {
      for (const chars of lengths) {
        if (next.tokens <= targetTokens) break;
        const charsOf = (item: ViewItem) => (item === latest ? Math.max(chars, latestChars) : chars);
        next = edited(
          next,
          of.flatMap((item) => truncated(item, charsOf(item))),
        );
      }
    }
    return next;
  },
};

/** Of the user's latest request, so much is left whatever does not fit. */
const LATEST_REQUEST_CHARS = 1_000;

interface Pass {
  of: readonly ViewItem[];
  /** So much of the latest request is left. */
  latestChars: number;
  targetTokens: number;
}

function passes(state: LadderState, run: Run): Pass[] {
  const { targetTokens = 0, mostTokens = targetTokens, reason, budgets } = run;
  const { items } = state.view;
  const seen = latestAnswer(items.map(({ message }) => message)) + 1;
  const atMost = reason === "overflow" ? targetTokens : Math.max(targetTokens, mostTokens);
  const cuts: Pass[] = [
    { of: items.slice(0, seen).filter(holdsOutput), latestChars: 0, targetTokens },
    { of: items.slice(seen).filter(holdsOutput), latestChars: 0, targetTokens: atMost },
  ];
  // What people wrote is cut only where a summary stands already, and what is kept is too large by itself.
  if (state.summary === undefined) return cuts;
  const of = items.filter((item) => roleTraits(item.message).mayBeCut && !holdsOutput(item));
  cuts.push({ of, latestChars: latestRequestChars(budgets), targetTokens: atMost });
  if (reason === "overflow") cuts.push({ of, latestChars: LATEST_REQUEST_CHARS, targetTokens: atMost });
  return cuts;
}

function latestRequest({ view }: LadderState): ViewItem | undefined {
  return view.items.findLast(({ message }) => message.role === "user");
}

/** Losing recent content is for an overflow, for a summary that did not free enough, and for what would not be sent. */
function mayLose(state: LadderState, run: Run): boolean {
  if (run.reason !== "threshold") return run.reason === "overflow";
  return state.summary !== undefined || isUnsendable(state, run);
}

/** True for a context so far above the window that no request with it would be sent. */
export function isUnsendable(
  { tokens }: LadderState,
  { sendableTokens = Number.POSITIVE_INFINITY }: Run,
): boolean {
  return tokens > sendableTokens;
}

function edited(state: LadderState, edits: readonly PlannedEdit[]): LadderState {
  const view = withEdits(state.view, edits);
  return view === state.view ? state : { ...state, view, tokens: viewTokens(view.items) };
}

function holdsOutput({ message }: ViewItem): boolean {
  return isOutput(message);
}

function hasMedia({ message }: ViewItem): boolean {
  return roleTraits(message).mayBeCut === true && contentOf(message).some((block) => block.type === "image");
}

function withoutMedia(item: ViewItem): PlannedEdit {
  const content = contentOf(item.message).map((block): UserContent => {
    return block.type === "image" ? { type: "text", text: `[image left out: ${block.mimeType}]` } : block;
  });
  return { entryId: item.entryId, kind: "media", content };
}

/** The ladder, cheapest and least lossy step first. */
export const ladderRungs: readonly Rung[] = [
  maskRung,
  extensionRung,
  summariseRung,
  chunksRung,
  digestRung,
  dropMediaRung,
  truncateRung,
];
