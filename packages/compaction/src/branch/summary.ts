import {
  BonsaiError,
  messageOf,
  redactSecrets,
  type TokenEstimator,
  tokenEstimator,
  type Usage,
} from "@bonsai-agent/messages";
import { branchFrame, escapeMarks, paragraphs, reportedUsage } from "@bonsai-agent/messages/host";
import { type Entry, type Projection, pinChange, project } from "@bonsai-agent/session";
import { type CarryOver, carriedTokens, recordBlocks, summaryDetails } from "../carry/carry-over.ts";
import { filesOf, renderFiles } from "../carry/files.ts";
import { checkedCarryOver } from "../carry/loss.ts";
import { otherClosings, recordOfItems } from "../carry/span-record.ts";
import { branchSummaryText, editedProse } from "../carry/summary-text.ts";
import { isOwnDetails, readDetails } from "../details.ts";
import type { BeforeTreeResult } from "../events.ts";
import { RunCost } from "../ladder/ask.ts";
import { summariseSpan } from "../ladder/chunks.ts";
import { serialise } from "../ladder/prompt.ts";
import { budgetsFor, type ModelSizes } from "../plan/limits.ts";
import { originalMessage, type ViewItem, viewOf } from "../plan/view.ts";
import { type CompactionSettings, compactionSettings } from "../settings.ts";
import type { Summariser } from "../summariser.ts";

/** The entries of a branch, and how their tokens are counted. */
export interface BranchSource {
  /** Oldest first. */
  readonly entries: readonly Entry[];
  /** The context at the branch's leaf. */
  readonly projection: Projection;
  readonly estimator: TokenEstimator;
  readonly settings: CompactionSettings;
  readonly model?: ModelSizes | undefined;
  /** True for a merge, which leaves no branch. Default: false. */
  readonly isMerge?: boolean;
}

interface SummariseBranchOptions {
  /** Called when the summary is made. */
  source: () => BranchSource;
  summariser: Summariser;
  focus?: string | undefined;
  /** True if the focus replaces the instructions. */
  replaceInstructions?: boolean | undefined;
  signal: AbortSignal;
}

/** A branch summary without its place in the tree. */
export interface BranchSummary {
  /** As the model will see it. */
  summary: string;
  /** The carried data, and the summary without its frame. */
  details: ReturnType<typeof summaryDetails>;
  /** Absent if the cost is unknown. */
  usage?: Usage;
}

/**
 * Summarises a branch. Returns undefined if the model has seen nothing of it.
 * @throws BonsaiError `branch_summary_failed`; nothing was written
 */
export async function summariseBranch(options: SummariseBranchOptions): Promise<BranchSummary | undefined> {
  const { summariser, focus, replaceInstructions, signal } = options;
  try {
    const source = options.source();
    const { estimator, settings, model = {} } = source;
    const budgets = budgetsFor({ settings, model });
    const limits = settings.serialize;
    const { windowTokens = DEFAULT_WINDOW_TOKENS, reserveTokens } = budgets;
    const items = branchItems(source);
    if (items.length === 0) return undefined;
    const known = branchCarryOver(items, source);
    const newest = newestItems(items, { budgetTokens: windowTokens - reserveTokens, estimator, limits });
    const cost = new RunCost();
    const job = {
      summariser,
      estimator,
      budgets,
      limits,
      signal,
      cost,
      ...(replaceInstructions && focus !== undefined ? { instructions: focus } : { focus }),
      record: known.record,
      carriesUserWords: known.wordsTokens > 0,
    };
    const prose = await summariseSpan(job, { kind: "branch", messages: newest.map(originalMessage) });
    const laid = laidBranch(prose, { items, source, known, isExtract: summariser.isExtract });
    return { ...laid, ...(cost.usage && { usage: cost.usage }) };
  } catch (cause) {
    throw branchFailure(cause);
  }
}

interface LaidBranchOptions {
  items: readonly ViewItem[];
  source: BranchSource;
  known: CarryOver;
  isExtract: boolean | undefined;
}

/** Frames the prose, and adds the carried data that it leaves out. */
function laidBranch(
  prose: string,
  { items, source, known, isExtract = false }: LaidBranchOptions,
): Pick<BranchSummary, "summary" | "details"> {
  const { settings } = source;
  const limits = branchTokens(items, source);
  const hasClosings = isExtract && known.wordsTokens > 0;
  const closings = hasClosings ? otherClosings(known.record, MAX_CLOSINGS_TOKENS) : [];
  const putBackTokens = isExtract ? 0 : limits.putBack;
  const check = { prose, settings, termsTokens: limits.terms, putBackTokens };
  const { carried } = checkedCarryOver({ ...known, closings }, check);
  const blocks = paragraphs([...recordBlocks(carried), renderFiles(carried)]);
  return {
    summary: branchSummaryText(prose, blocks, branchFrame(source)),
    details: { ...summaryDetails(carried, prose), ...(isExtract && { isExtract }) },
  };
}

/** A branch summary is read beside a live context, so it quotes less. */
const MAX_CLOSINGS_TOKENS = 1_500;

/** The data that every summary of the branch carries. */
function branchCarryOver(items: readonly ViewItem[], source: BranchSource): CarryOver {
  const { entries, settings } = source;
  return {
    ...filesOf(items, entries),
    pinned: [],
    latestRequest: undefined,
    record: recordOfItems({
      items: items.map((item) => item.source),
      wordsTokens: settings.words.maxTokens,
    }),
    wordsTokens: branchTokens(items, source).words,
    closings: [],
    terms: [],
    putBack: [],
  };
}

function branchTokens(items: readonly ViewItem[], { settings, model = {} }: BranchSource) {
  const { windowTokens } = budgetsFor({ settings, model });
  const span = { previous: undefined, history: items, turnPrefix: [] };
  return carriedTokens(span, settings, windowTokens);
}

/** The messages of the branch that the model saw, oldest first, without pins. */
function branchItems({ entries, projection, estimator }: BranchSource): ViewItem[] {
  const ids = new Set(entries.map((entry) => entry.id));
  const { items } = viewOf(projection, estimator);
  return items.filter(({ entryId, entry }) => ids.has(entryId) && pinChange(entry) === undefined);
}

/** Budget if the model's window is unknown. */
const DEFAULT_WINDOW_TOKENS = 128_000;
/** A summary that does not fit is still included below this share of the budget. */
const SUMMARY_SHARE = 0.9;

interface NewestItemsOptions {
  budgetTokens: number;
  estimator: TokenEstimator;
  limits: CompactionSettings["serialize"];
}

/** The newest messages within the budget, oldest first. The newest alone may exceed it. */
export function newestItems(items: readonly ViewItem[], options: NewestItemsOptions): ViewItem[] {
  const { budgetTokens } = options;
  const chosen: ViewItem[] = [];
  let tokens = 0;
  for (const item of items.toReversed()) {
    const size = requestTokens(item, options);
    const fits = tokens + size <= budgetTokens;
    const isNewest = chosen.length === 0;
    if (!fits && !isNewest && !(isSummary(item) && tokens < budgetTokens * SUMMARY_SHARE)) break;
    chosen.push(item);
    tokens += size;
    if (!fits) break;
  }
  return chosen.reverse();
}

/** A long tool result is shorter in the request than in the context. */
function requestTokens(item: ViewItem, { estimator, limits }: NewestItemsOptions): number {
  const [text = ""] = serialise([originalMessage(item)], limits);
  return Math.min(item.tokens, estimator.text(text));
}

function isSummary({ message }: ViewItem): boolean {
  return message.role === "branchSummary" || message.role === "compactionSummary";
}

type GivenSummary = NonNullable<BeforeTreeResult["summary"]>;

/** An extension's summary of a branch. One of `summariseEntries` is one of ours: only its prose counts. */
export function customBranchSummary(given: GivenSummary, source: () => BranchSource): GivenSummary {
  const { details } = given;
  const usage = reportedUsage(given.usage);
  const summary = redactSecrets(given.summary);
  const { isExtract } = readDetails(details);
  if (!isOwnDetails(details))
    return {
      summary: escapeMarks(summary),
      ...(details !== undefined && { details }),
      ...(usage && { usage }),
    };
  const branch = source();
  const items = branchItems(branch);
  const known = branchCarryOver(items, branch);
  const laid = laidBranch(escapeMarks(editedProse(summary)), { items, source: branch, known, isExtract });
  return { ...laid, ...(usage && { usage }) };
}

function branchFailure(cause: unknown): BonsaiError {
  if (BonsaiError.is(cause)) return cause;
  return new BonsaiError({
    code: "branch_summary_failed",
    message: `Could not summarise the branch, and nothing changed: ${messageOf(cause)}`,
    hint: "Try again or use the built-in digest. /tree and /merge offer it. `bonsai session goto` and `bonsai session merge` use it without --model.",
    cause,
  });
}

export interface SummariseEntriesOptions {
  /** Oldest first: `entriesToSummarize` of a `session_before_tree` event, or other entries of one branch. */
  entries: readonly Entry[];
  /** Makes the summary. */
  summariser: Summariser;
  /** Topics that the summary must emphasise. */
  customInstructions?: string | undefined;
  /** True if `customInstructions` replaces the instructions. Default: false. */
  replaceInstructions?: boolean | undefined;
  /** Cancels the summary. */
  signal?: AbortSignal | undefined;
}

/** The branch of each event's entries. */
const sources = new WeakMap<readonly Entry[], () => BranchSource>();

/** Remembers the branch of an event's entries as long as a handler has them, and freezes them. */
export function linkToBranch(entries: readonly Entry[], source: () => BranchSource): readonly Entry[] {
  sources.set(entries, source);
  return Object.freeze(entries);
}

/**
 * Makes the summary that leaving a branch would make without an extension. Return it from `session_before_tree`,
 * unchanged or with another prose; edits of the carried blocks are ignored. Writes nothing. Entries that no event
 * supplied are counted with the default settings.
 * @throws BonsaiError `branch_summary_failed`, also for entries that no model sees; the signal's reason after an abort
 */
export async function summariseEntries(options: SummariseEntriesOptions): Promise<BranchSummary> {
  const { entries, summariser, customInstructions: focus, replaceInstructions } = options;
  const { signal = new AbortController().signal } = options;
  const source = sources.get(entries) ?? (() => sourceOf(entries));
  try {
    const summary = await summariseBranch({ source, summariser, focus, replaceInstructions, signal });
    if (summary !== undefined) return summary;
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
  throw new BonsaiError({
    code: "branch_summary_failed",
    message: "The branch has no messages to summarise.",
    hint: "Return nothing to leave the branch without a summary.",
  });
}

function sourceOf(entries: readonly Entry[]): BranchSource {
  const settings = compactionSettings({});
  return { entries, projection: project(entries), estimator: tokenEstimator, settings };
}
