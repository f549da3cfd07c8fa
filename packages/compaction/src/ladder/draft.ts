import { estimateTokens } from "@bonsai-agent/messages";
import { escapeMarks, paragraphs } from "@bonsai-agent/messages/host";
import { type Entry, pinChange } from "@bonsai-agent/session";
import {
  type CarryOver,
  carriedTokens,
  carryOver,
  recordBlocks,
  replacedTokens,
  spanRecord,
} from "../carry/carry-over.ts";
import { renderExtensionCarryOver } from "../carry/extension-carry.ts";
import { block, type FileLists } from "../carry/files.ts";
import { checkedCarryOver } from "../carry/loss.ts";
import { pinsMissingIn } from "../carry/pins.ts";
import { safeProse, summaryText, withCarriedOver } from "../carry/summary-text.ts";
import { type CompactionPlan, splitAt } from "../plan/plan.ts";
import { PLANNED_ENTRY_ID, type ViewItem, viewTokens } from "../plan/view.ts";
import { otherClosings } from "../record/statements.ts";
import type { Draft, LadderState, LaidSummary, Run } from "./ladder.ts";

/** Lays a draft on a planned context: computes the carried data, checks the loss, and replaces the summarised part. */
export function layDraft(state: LadderState, draft: Draft, run: Run): LadderState {
  const planned = { ...state, plan: planUpTo(state.plan!, draft.firstKeptEntryId) };
  const known = carriedBy(draft, planned, run);
  const next = laidState(planned, draft, known, run);
  // Beside a short span, the user's words are carried only if they fit.
  if (!known.isBrief || draft.own !== undefined || next.tokens < state.tokens) return next;
  return laidState(planned, draft, { ...known, wordsTokens: 0 }, run);
}

/** The plan with the cut that the draft was made for. */
function planUpTo(plan: CompactionPlan, firstKeptEntryId: string | null): CompactionPlan {
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
    isExtract ? withClosings(draft.prose, known, { plan, run }) : known,
    {
      prose: draft.prose,
      kept: plan.kept,
      settings: run.settings,
      termsTokens: isExtract ? digestTermsTokens(known, { plan, run }) : ownTerms,
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
function summaryItem({ view }: LadderState, { text }: LaidSummary): ViewItem {
  const message = { role: "compactionSummary" as const, summary: text, tokensBefore: 0, timestamp: 0 };
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

/** A span to digest. */
interface DigestedSpan {
  plan: CompactionPlan;
  run: Run;
}

/**
 * Tokens of a digest with its frame and everything that it carries. Each compaction after the first `free` ones adds
 * `perCompaction`. Only a long request adds more.
 */
const DIGEST_TOKENS = { usual: 5_750, free: 4, perCompaction: 390, max: 7_300, min: 600 };
/** Upper bounds as shares of the window and of the newly summarised span: a digest has to shrink the context. */
const DIGEST_SHARE = { window: 0.15, span: 0.6, shortSpan: 0.8 };
/** Share of the records in the space beside the user's words; the agent's answers get the rest. */
const RECORDS_SHARE = 0.6;
const MIN_PROSE_TOKENS = 1_300;
/** Factor for the terms in a digest's index, until `free` compactions were made. */
const DIGEST_TERMS_FACTOR = 1.4;

function digestTokens({ record }: CarryOver, { plan, run }: DigestedSpan): number {
  const { windowTokens = Number.POSITIVE_INFINITY } = run.budgets;
  const { previousTokens, newTokens } = replacedTokens(plan);
  const { usual, free, perCompaction, max, min } = DIGEST_TOKENS;
  const most = Math.min(usual + perCompaction * Math.max(0, record.spans - free), max);
  const window = Math.floor(windowTokens * DIGEST_SHARE.window);
  const span = Math.floor(previousTokens + newTokens * DIGEST_SHARE.span);
  const least = Math.min(min, Math.floor((previousTokens + newTokens) * DIGEST_SHARE.shortSpan));
  return Math.min(most, Math.max(least, window), Math.max(least, span));
}

/** Tokens of the digest's prose beside everything that is carried around it. */
export function digestProseTokens(carried: CarryOver, span: DigestedSpan): number {
  const share = carried.wordsTokens > 0 ? RECORDS_SHARE : 1;
  const most = Math.floor(share * leftTokens("", carried, span));
  return Math.max(Math.min(MIN_PROSE_TOKENS, digestTokens(carried, span) / 2), most);
}

/** Tokens of the digest's index of terms. */
function digestTermsTokens({ record }: CarryOver, { plan, run }: DigestedSpan): number {
  const factor = record.spans > DIGEST_TOKENS.free ? 1 : DIGEST_TERMS_FACTOR;
  return Math.floor(carriedTokens(plan, run.settings, run.budgets.windowTokens).terms * factor);
}

/** Adds the agent's answers, in order between the user's words, because either can revise the other. */
function withClosings(prose: string, carried: CarryOver, span: DigestedSpan): CarryOver {
  if (carried.wordsTokens === 0) return carried;
  const left = leftTokens(prose, carried, span);
  return {
    ...carried,
    closings: otherClosings(carried.record.closings, { maxTokens: left, focus: span.run.focus }),
  };
}

function leftTokens(prose: string, carried: CarryOver, span: DigestedSpan): number {
  const text = summaryText(prose, { ...carried, extensions: {} });
  return Math.max(0, digestTokens(carried, span) - estimateTokens(text) - digestTermsTokens(carried, span));
}
