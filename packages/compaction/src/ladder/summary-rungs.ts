import { escapeMarks, paragraphs } from "@bonsai-agent/messages/host";
import { type Entry, pinChange } from "@bonsai-agent/session";
import {
  type CarryOver,
  carriedTokens,
  carryOver,
  joinedProse,
  previousProse,
  recordBlocks,
  safeProse,
  summaryText,
  withCarriedOver,
} from "../carry/carry-over.ts";
import { renderExtensionCarryOver } from "../carry/extension-carry.ts";
import { block, type FileLists } from "../carry/files.ts";
import { checkedCarryOver } from "../carry/loss.ts";
import { pinsMissingIn } from "../carry/pins.ts";
import { spanRecord } from "../carry/record.ts";
import { type CompactionReason, storedDetails } from "../details.ts";
import { type CompactionPlan, splitAt } from "../plan/cut.ts";
import { originalMessage, PLANNED_ENTRY_ID, type ViewItem, viewTokens } from "../plan/view.ts";
import type { CompactionSettings } from "../settings.ts";
import type { Summariser, SummaryKind } from "../summariser.ts";
import { askSummary, fitsWhole, RunCost, wholeSpan } from "./ask.ts";
import { refusedPartTokens, summariseInChunks } from "./chunks.ts";
import { digestProseTokens, withStatements } from "./digest-summariser.ts";
import type { Span, SummaryJob } from "./prompt.ts";
import type { Draft, LadderState, LaidSummary, Run, Rung, RungFailure } from "./run.ts";

/** Asks the model once for each span. */
export const summariseRung: Rung = {
  name: "summarise",
  isForSummary: true,
  attempt(state, run) {
    if (run.summariser === undefined) return state;
    if (!fitsWhole(jobFor(state, run, run.summariser), spansOf(state))) return state;
    return modelSummary("summarise", state, run, (job, span) => askSummary(job, wholeSpan(job, span)));
  },
};

/** Asks the model in several requests, each updating the last summary, if one is too long for it. */
export const chunksRung: Rung = {
  name: "chunks",
  isForSummary: true,
  attempt(state, run) {
    if (run.summariser === undefined || !wasTooLong(state)) return state;
    const isRefused = state.failures.some(isRefusal);
    const job = jobFor(state, run, run.summariser);
    const maxTokens = isRefused ? refusedPartTokens(job, spansOf(state)) : undefined;
    return modelSummary("chunks", state, run, (each, span) => summariseInChunks(each, span, maxTokens));
  },
};

/** Summarises without a model. */
export const digestRung: Rung = {
  name: "digest",
  isForSummary: true,
  async attempt(state, run) {
    const { plan } = state;
    const { focus, digest } = run;
    if (digest === undefined || !isDigestAllowed(run)) return state;
    const carried = {
      ...carryOverOf(plan!, run, focus),
      ...(state.carryOver && { extensions: state.carryOver }),
    };
    const prose = await digestProse(state, run, { digest, carried });
    const { firstKeptEntryId } = plan!;
    const isExtract = digest.isExtract === true;
    return layDraft(state, { prose, firstKeptEntryId, rung: "digest", isExtract, focus }, run);
  },
};

/** The digest's prose for the planned span. It asks no model, so it costs nothing. */
export async function digestProse(
  state: LadderState,
  run: Run,
  { digest, carried }: { digest: Summariser; carried: CarryOver },
): Promise<string> {
  const plan = state.plan!;
  const job = { ...jobFor(state, run, digest), cost: new RunCost() };
  const items = [...plan.history, ...plan.turnPrefix];
  const span = { ...historySpan(items, plan.kept), previousSummary: previousProse(plan.previous) };
  // A short span needs a digest that is shorter still.
  const maxTokens = digestProseTokens(carried, { plan, run });
  return askSummary(job, wholeSpan(job, span, maxTokens));
}

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
    kind: settings.summarizer.kind,
    mayUseContext: reason !== "overflow" && instructions === undefined && former === undefined,
    record: spanRecord(plan, run.recordSource, focus),
    secrets: run.recordSource.secrets,
    carriesUserWords: carriedTokens(plan, settings, budgets.windowTokens).words > 0,
  };
}

/** Lays a draft on a planned context: computes the carried data, checks the loss, and replaces the summarised part. */
export function layDraft(state: LadderState, draft: Draft, run: Run): LadderState {
  const planned = { ...state, plan: planUpTo(state.plan!, draft.firstKeptEntryId) };
  const known = carriedBy(draft, planned, run);
  const next = laidState(planned, draft, known, run);
  // Beside a short span, the user's words are carried only if they fit. A provider's summary may say nothing about them.
  const { own, provider } = draft;
  if (!known.isBrief || own !== undefined || provider !== undefined || next.tokens < state.tokens)
    return next;
  return laidState(planned, draft, { ...known, wordsTokens: 0 }, run);
}

/** The plan with the cut that the draft was made for. */
export function planUpTo(plan: CompactionPlan, firstKeptEntryId: string | null): CompactionPlan {
  if (firstKeptEntryId === plan.firstKeptEntryId) return plan;
  const items = [...plan.history, ...plan.turnPrefix, ...plan.kept];
  const at = items.findIndex(({ entryId }) => entryId === firstKeptEntryId);
  return { ...plan, ...splitAt(items, at < 0 ? items.length : at) };
}

/** An extension's own text names the touched files itself. */
const NO_FILES: FileLists = { readFiles: [], modifiedFiles: [], recentFiles: [], recentEntries: [] };

function carriedBy({ own, focus }: Draft, { plan, carryOver: extensions }: LadderState, run: Run): CarryOver {
  const all = carryOverOf(plan!, run, own ? run.focus : focus);
  const known = { ...all, ...(extensions && { extensions }) };
  if (own === undefined) return known;
  const wordsTokens = own.carry.includes("userWords") ? all.wordsTokens : 0;
  return { ...known, ...NO_FILES, latestRequest: undefined, wordsTokens };
}

/** The data that a summary of a plan carries. */
export function carryOverOf(plan: CompactionPlan, run: Run, focus: string | undefined): CarryOver {
  const { recordSource, pinned, settings, budgets } = run;
  const { windowTokens } = budgets;
  return carryOver(plan, {
    record: spanRecord(plan, recordSource, focus),
    secrets: recordSource.secrets,
    pinned,
    focus,
    wordsTokens: carriedTokens(plan, settings, windowTokens).words,
    windowTokens,
  });
}

function laidState(state: LadderState, given: Draft, known: CarryOver, run: Run): LadderState {
  const plan = state.plan!;
  const { own, isExtract } = given;
  const draft = { ...given, prose: safeText(given, known, { plan, run }) };
  const most = carriedTokens(plan, run.settings, run.budgets.windowTokens);
  const ownTerms = own === undefined || own.carry.includes("terms") ? most.terms : 0;
  const { carried, loss } = checkedCarryOver(
    isExtract ? withStatements(draft.prose, known, { plan, run }) : known,
    {
      prose: draft.prose,
      kept: plan.kept,
      settings: run.settings,
      termsTokens: ownTerms,
      // An extract already quotes the facts of the record.
      putBackTokens: isExtract || own !== undefined ? 0 : most.putBack,
    },
  );
  const text = own ? ownText(draft.prose, carried) : summaryText(draft.prose, carried);
  return summarisedState(state, { draft, text, carried, loss });
}

/** The prose without secrets and without our marks. Only the joint of a split turn may remain. */
function safeText(
  { prose, own }: Draft,
  { extensions = {} }: CarryOver,
  { plan, run }: { plan: CompactionPlan; run: Run },
): string {
  const { secrets } = run.recordSource;
  const tags = Object.keys(extensions);
  const text = secrets.text(prose);
  if (own === undefined) return plan.splitTurn ? safeProse(text, tags) : escapeMarks(text, tags);
  // Pins stay word for word, also in an extension's summary.
  const pins = run.pinned.map((pin) => [secrets.text(escapeMarks(pin)), escapeMarks(pin)] as const);
  return escapeMarks(
    pins.reduce((all, [redacted, pin]) => all.replaceAll(redacted, () => pin), text),
    tags,
  );
}

/** An extension's text, followed by the carried parts and the pins that it does not contain. */
function ownText(prose: string, carried: CarryOver): string {
  const pins = block("pinned", pinsMissingIn(prose, carried.pinned));
  const extensions = renderExtensionCarryOver(carried.extensions);
  return withCarriedOver(prose, paragraphs([...recordBlocks(carried), pins, extensions]));
}

function summarisedState(state: LadderState, summary: LaidSummary): LadderState {
  const { firstKeptEntryId, rung } = summary.draft;
  const from = state.view.items.findIndex((item) => item.entryId === firstKeptEntryId);
  const kept = from < 0 ? [] : state.view.items.slice(from);
  const keptIds = new Set(kept.map((item) => item.entryId));
  // The summary carries the pins.
  const others = kept.filter((item) => pinChange(item.entry) === undefined);
  const items = [summaryItem(state, summary), ...others];
  const edits = state.view.edits.filter((edit) => keptIds.has(edit.entryId));
  const view = { ...state.view, items, edits };
  return { ...state, summary, view, tokens: viewTokens(items), rung };
}

/** Represents the compaction entry before it is written. */
function summaryItem({ view }: LadderState, { text, draft: { provider } }: LaidSummary): ViewItem {
  const message = {
    ...{ role: "compactionSummary" as const, summary: text, tokensBefore: 0, timestamp: 0 },
    ...(provider && { provider }),
  };
  const entry = {
    type: "compaction",
    id: PLANNED_ENTRY_ID,
    parentId: null,
    timestamp: "",
    summary: text,
    firstKeptEntryId: PLANNED_ENTRY_ID,
    tokensBefore: 0,
  } as Entry;
  const source = { entryId: PLANNED_ENTRY_ID, entry, message };
  return { ...source, tokens: view.estimator.message(message), source };
}
