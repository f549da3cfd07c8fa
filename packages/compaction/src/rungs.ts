import { byScript, type UserContent } from "@bonsai-agent/messages";
import type { SummaryJob } from "./ask-summary.ts";
import { highTokens, latestRequestChars } from "./budget.ts";
import { boundedCarryOver, type CarryOver, carryOver } from "./carry-over.ts";
import { customSummary, rememberPrepared } from "./custom-summary.ts";
import { fileOperations } from "./files.ts";
import { CompactionCancelled } from "./ladder.ts";
import { ownDetails } from "./own-details.ts";
import { isFailedAnswer, isWorthwhile, maskEdits, planMasks } from "./plan.ts";
import {
  type LadderContext,
  type LadderState,
  type PlannedSummary,
  type Rung,
  type RungFailure,
  summarisedState,
} from "./rung.ts";
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
  originalMessage,
  type PlannedEdit,
  truncated,
  type ViewItem,
  viewTokens,
  withEdits,
} from "./view.ts";

/** Masks old outputs and shortens what commands of the user printed; an extension may veto, or keep some of them. */
const maskRung: Rung = {
  name: "mask",
  applies: ({ view }, { settings, commandTokens }) =>
    isWorthwhile(planMasks(view, settings.mask, commandTokens)),
  async attempt(state, { settings, commandTokens, hooks }) {
    const plan = planMasks(state.view, settings.mask, commandTokens);
    const keep = await hooks.beforeMask(plan);
    if (keep === "cancel") return state;
    const view = withEdits(state.view, maskEdits(plan, keep));
    return view === state.view ? state : { ...state, view, tokens: viewTokens(view.items) };
  },
};

/** Asks the extensions: one may cancel, or supply the summary. */
const extensionRung: Rung = {
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

/** Lengths that tool results are cut to, in characters: the longest that suffices is taken. */
const TRUNCATED_CHARS = [64_000, 32_000, 16_000, 8_000, 4_000, 2_000];
/** What does not fit after an overflow, or could not be sent, ends the run. */
const SHORTEST_CHARS = [...TRUNCATED_CHARS, 1_000, 500, 200];

/** Replaces images by a mark. */
const dropMediaRung: Rung = {
  name: "media",
  applies: (state, context) => mayLose(state, context) && keptItems(state).some(hasMedia),
  async attempt(state) {
    return edited(state, keptItems(state).filter(hasMedia).map(withoutMedia));
  },
};

/**
 * Cuts the largest remaining tool results and outputs of commands to head and tail; then, if need be, pasted text. What the model has not seen
 * yet is cut last, and by a threshold only where it would not fit the window otherwise.
 */
const truncateRung: Rung = {
  name: "truncate",
  applies: (state, context) =>
    mayLose(state, context) && passes(state, context).some(({ of }) => of.length > 0),
  async attempt(state, context) {
    let next = state;
    const isForced = context.reason === "overflow" || isUnsendable(state, context);
    const lengths = isForced ? SHORTEST_CHARS : TRUNCATED_CHARS;
    for (const { of, leastChars, targetTokens } of passes(state, context)) {
      for (const chars of lengths) {
        if (next.tokens <= targetTokens) break;
        next = edited(
          next,
          of.flatMap((item) => truncated(item, Math.max(chars, leastChars(item)))),
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
  leastChars: (item: ViewItem) => number;
  targetTokens: number;
}

function passes(state: LadderState, context: LadderContext): Pass[] {
  const { targetTokens = 0, mostTokens = targetTokens, reason, budgets } = context;
  const kept = keptItems(state);
  const results = kept.filter(holdsOutput);
  const unseen = unseenResults(kept);
  const latest = kept.findLast(({ message }) => message.role === "user");
  const atMost = reason === "overflow" ? targetTokens : Math.max(targetTokens, mostTokens);
  const none = () => 0;
  const wholeLatest = (item: ViewItem) => (item === latest ? latestRequestChars(budgets) : 0);
  const endsOfLatest = (item: ViewItem) => (item === latest ? LATEST_REQUEST_CHARS : 0);
  const cuts: Pass[] = [
    { of: results.filter((item) => !unseen.has(item)), leastChars: none, targetTokens },
    { of: results.filter((item) => unseen.has(item)), leastChars: none, targetTokens: atMost },
  ];
  // What people wrote is cut only where a summary stands already, and what is kept is too large by itself.
  if (state.summary === undefined) return cuts;
  const written = kept.filter((item) => isEditable(item) && !holdsOutput(item));
  cuts.push({ of: written, leastChars: wholeLatest, targetTokens: atMost });
  if (reason === "overflow") cuts.push({ of: written, leastChars: endsOfLatest, targetTokens: atMost });
  return cuts;
}

/** Results that stand behind the last good answer. */
function unseenResults(items: readonly ViewItem[]): ReadonlySet<ViewItem> {
  const answered = items.findLastIndex(
    ({ message }) => message.role === "assistant" && !isFailedAnswer(message),
  );
  return new Set(items.slice(answered + 1).filter(holdsOutput));
}

/** Losing recent content is for an overflow, for a summary that did not free enough, and for what would not be sent. */
function mayLose(state: LadderState, context: LadderContext): boolean {
  if (context.reason !== "threshold") return context.reason === "overflow";
  return state.summary !== undefined || isUnsendable(state, context);
}

/** True for a context so far above the window that no request with it would be sent. */
export function isUnsendable(
  { tokens }: LadderState,
  { sendableTokens = Number.POSITIVE_INFINITY }: LadderContext,
): boolean {
  return tokens > sendableTokens;
}

/** What stays in the context: with a summary, the part that it keeps. */
function keptItems({ view, summary }: LadderState): readonly ViewItem[] {
  if (summary === undefined) return view.items;
  return view.items.filter((item) => item.message.role !== "compactionSummary");
}

function edited(state: LadderState, edits: readonly PlannedEdit[]): LadderState {
  const view = withEdits(state.view, edits);
  return view === state.view ? state : { ...state, view, tokens: viewTokens(view.items) };
}

function holdsOutput({ message }: ViewItem): boolean {
  return isOutput(message);
}

/** A context edit can replace the content of these; a summary has none. */
function isEditable({ message }: ViewItem): boolean {
  return isOutput(message) || message.role === "user" || message.role === "custom";
}

function hasMedia(item: ViewItem): boolean {
  return isEditable(item) && contentOf(item.message).some((block) => block.type === "image");
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
