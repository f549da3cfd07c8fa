import type { Message } from "@bonsai-agent/messages";
import { carriedTokens, spanRecord } from "../carry/carry-over.ts";
import { joinedProse, previousProse } from "../carry/summary-text.ts";
import { type CompactionReason, storedDetails } from "../details.ts";
import { originalMessage, type ViewItem } from "../plan/view.ts";
import { digestText } from "../record/digest.ts";
import { recordAfter } from "../record/record.ts";
import { summaryProse } from "../record/statements.ts";
import type { CompactionSettings } from "../settings.ts";
import type { Summariser, SummaryKind, SummaryRequest } from "../summariser.ts";
import { askSummary, fitsWhole, RunCost, type Span, wholeSpan } from "./ask.ts";
import { refusedPartTokens, summariseInChunks } from "./chunks.ts";
import { carryOverOf, digestProseTokens, layDraft } from "./draft.ts";
import { type LadderState, needsSummary, type Run, type Rung, type RungFailure } from "./ladder.ts";
import type { SummaryJob } from "./prompt.ts";

/** Asks the model once for each span. */
export const summariseRung: Rung = {
  name: "summarise",
  attempt(state, run) {
    if (!needsSummary(state) || run.summariser === undefined) return state;
    if (!fitsWhole(jobFor(state, run, run.summariser), spansOf(state))) return state;
    return modelSummary("summarise", state, run, (job, span) => askSummary(job, wholeSpan(job, span)));
  },
};

/** Asks the model in several requests, each updating the last summary, if one is too long for it. */
export const chunksRung: Rung = {
  name: "chunks",
  attempt(state, run) {
    if (!needsSummary(state) || run.summariser === undefined || !wasTooLong(state)) return state;
    const isRefused = state.failures.some(isRefusal);
    const job = jobFor(state, run, run.summariser);
    const maxTokens = isRefused ? refusedPartTokens(job, spansOf(state)) : undefined;
    return modelSummary("chunks", state, run, (each, span) => summariseInChunks(each, span, maxTokens));
  },
};

/** Summarises without a model. */
export const digestRung: Rung = {
  name: "digest",
  async attempt(state, run) {
    const { plan } = state;
    const { focus, digest } = run;
    if (!needsSummary(state) || digest === undefined || !isDigestAllowed(run)) return state;
    const carried = {
      ...carryOverOf(plan!, run, focus),
      ...(state.carryOver && { extensions: state.carryOver }),
    };
    // The digest asks no model, so it costs nothing.
    const job = { ...jobFor(state, run, digest), cost: new RunCost() };
    const items = [...plan!.history, ...plan!.turnPrefix];
    const span = { ...historySpan(items, plan!.kept), previousSummary: previousProse(plan!.previous) };
    // A short span needs a digest that is shorter still.
    const maxTokens = digestProseTokens(carried, { plan: plan!, run });
    const prose = await askSummary(job, wholeSpan(job, span, maxTokens));
    const { firstKeptEntryId } = plan!;
    const isExtract = digest.isExtract === true;
    return layDraft(state, { prose, firstKeptEntryId, rung: "digest", isExtract, focus }, run);
  },
};

async function modelSummary(
  rung: "summarise" | "chunks",
  state: LadderState,
  run: Run,
  summarise: (job: SummaryJob, span: Span) => Promise<string>,
): Promise<LadderState> {
  const summariser = run.summariser!;
  const spans = spansOf(state);
  const texts = await allOrNone(jobFor(state, run, summariser), spans, summarise);
  const textOf = (kind: SummaryKind) => texts[spans.findIndex((span) => span.kind === kind)];
  const { previous, firstKeptEntryId } = state.plan!;
  // Without new history, the previous summary is the history.
  const prose = joinedProse(textOf("history") ?? previousProse(previous), textOf("turnPrefix"));
  const isExtract = summariser.isExtract === true;
  return layDraft(state, { prose, firstKeptEntryId, rung, isExtract, focus: run.focus }, run);
}

/** Runs in parallel. If one request fails, the others are aborted, because half a summary is no use. */
async function allOrNone(
  job: SummaryJob,
  spans: readonly Span[],
  summarise: (job: SummaryJob, span: Span) => Promise<string>,
): Promise<string[]> {
  const stop = new AbortController();
  const linked = { ...job, signal: AbortSignal.any([job.signal, stop.signal]) };
  let failure: { error: unknown } | undefined;
  const texts = spans.map((span) =>
    summarise(linked, span).catch((error: unknown) => {
      failure ??= { error };
      stop.abort();
      return "";
    }),
  );
  const done = await Promise.all(texts);
  if (failure !== undefined) throw failure.error;
  return done;
}

/** The spans of a plan: history, turn prefix, or both. */
export function spansOf({ plan }: LadderState): Span[] {
  const { history, turnPrefix, kept, previous } = plan!;
  const spans: Span[] = [];
  if (history.length > 0)
    spans.push({
      ...historySpan(history, [...turnPrefix, ...kept]),
      previousSummary: previousProse(previous),
    });
  if (turnPrefix.length > 0) spans.push({ ...historySpan(turnPrefix, kept), kind: "turnPrefix" });
  return spans;
}

function historySpan(items: readonly ViewItem[], following: readonly ViewItem[]): Span {
  return {
    kind: "history",
    messages: items.map(originalMessage),
    following: following.map(originalMessage),
  };
}

/** True if the whole was not tried, because it does not fit, or if the model found it too long. */
function wasTooLong({ failures }: LadderState): boolean {
  return !failures.some(({ rung }) => rung === "summarise") || failures.some(isRefusal);
}

function isRefusal({ rung, overflow }: RungFailure): boolean {
  return rung === "summarise" && overflow === true;
}

function isDigestAllowed({ summariser, reason, settings, isBackground }: Run): boolean {
  // A digest takes no time, so the background never makes one ahead.
  if (isBackground) return false;
  return summariser === undefined || digestStandsIn(settings, reason);
}

/** True if the digest replaces a model's failed summary, for a compaction of this reason. */
export function digestStandsIn({ summarizer }: CompactionSettings, reason: CompactionReason): boolean {
  const { fallback } = summarizer;
  return fallback === "always" || (fallback === "overflow" && reason === "overflow");
}

/** The summary job of a run. */
export function jobFor(state: LadderState, run: Run, summariser: Summariser): SummaryJob {
  const { signal, focus, instructions, cost, settings, budgets, reason, former } = run;
  const plan = state.plan!;
  return {
    summariser,
    estimator: state.view.estimator,
    budgets,
    limits: settings.serialize,
    signal,
    cost,
    focus,
    instructions,
    echoedTags: Object.keys(storedDetails(plan.previous).carryOver),
    // A refused context must not be sent again, and a repeated compaction is not about the context as it is now.
    mayUseContext: reason !== "overflow" && instructions === undefined && former === undefined,
    record: spanRecord(plan, run.recordSource, focus),
    secrets: run.recordSource.secrets,
    carriesUserWords: carriedTokens(plan, settings, budgets.windowTokens).words > 0,
  };
}

/** Maximum tokens of the prose of a digest. */
const DIGEST_TOKENS = 5_900;
/** Maximum tokens of the user's words in a digest that is not followed by them. */
const DIGEST_WORDS_TOKENS = 4_000;
/** A turn prefix and a branch are read beside a history or a live context, so they are shorter. */
const KIND_SHARE: Record<SummaryKind, number> = { history: 1, turnPrefix: 0.35, branch: 0.6 };

/**
 * The summariser that needs no model. It quotes messages word for word, and reports the outcome of commands. The same
 * messages give the same digest: it uses no clock, chance or locale.
 */
export function digestSummariser(): Summariser {
  return {
    name: "digest",
    isExtract: true,
    async summarise(request: SummaryRequest) {
      if (request.signal.aborted) return { text: "", stopReason: "aborted" };
      return { text: digestOf(request), stopReason: "stop" };
    },
  };
}

function digestOf(request: SummaryRequest): string {
  const { kind, messages, following = [], previousSummary, focus, carriesUserWords = false } = request;
  const source = (message: (typeof messages)[number]) => ({ message });
  const record =
    request.record ??
    recordAfter({
      messages: messages.map(source),
      following: following.map(source),
      wordsTokens: DIGEST_WORDS_TOKENS,
    });
  const maxTokens = Math.floor(Math.min(DIGEST_TOKENS, request.maxSummaryTokens) * KIND_SHARE[kind]);
  return digestText({
    record,
    earlierSummary: [previousSummary, ...prosesOf(messages, "compactionSummary")].join("\n"),
    branchSummaries: prosesOf(messages, "branchSummary"),
    focus,
    carriesUserWords,
    maxTokens,
  });
}

function prosesOf(messages: readonly Message[], role: "branchSummary" | "compactionSummary"): string[] {
  return messages.flatMap((message) => (message.role === role ? [summaryProse(message)] : []));
}
