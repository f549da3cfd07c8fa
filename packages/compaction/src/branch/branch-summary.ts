import {
  addUsage,
  BonsaiError,
  byScriptEstimator,
  emptyUsage,
  redactSecrets,
  reportedUsage,
  type TokenEstimator,
  type Usage,
} from "@bonsai-agent/messages";
import { branchFrame } from "@bonsai-agent/messages/frames";
import { inert } from "@bonsai-agent/messages/marks";
import { type Entry, type Projection, project } from "@bonsai-agent/session";
import {
  type BranchSource,
  branchBlocks,
  branchCarryOver,
  leftItems,
  withFindings,
} from "../carry/branch-carry-over.ts";
import { summaryDetails, summaryOfDetails } from "../carry/carry-over.ts";
import { isOwnDetails } from "../carry/details.ts";
import { branchSummaryText, changedBranchSummary } from "../carry/summary-text.ts";
import type { BeforeTreeResult } from "../events.ts";
import { messageOf } from "../flow/outcome.ts";
import { askSummary, type SummaryJob, type SummaryPart } from "../ladder/ask-summary.ts";
import { clipUntil, serialise } from "../ladder/serialise.ts";
import {
  type Budgets,
  budgetsFor,
  maxSummaryTokens,
  mostAnswerTokens,
  requestCapacity,
} from "../plan/budget.ts";
import { originalMessage, type ViewItem } from "../plan/view.ts";
import { type CompactionSettings, compactionSettings } from "../settings.ts";
import { type Summariser, SummaryFailure } from "../summariser.ts";
import type { Branch } from "./branch.ts";

interface SummariseBranchOptions {
  /** Read when the summary is made. */
  source: () => BranchSource;
  summariser: Summariser;
  focus?: string | undefined;
  /** The focus text takes the place of the instructions. */
  replaceInstructions?: boolean | undefined;
  signal: AbortSignal;
}

/** The fields of a branch summary, without its place. */
export interface BranchSummary {
  /** As the model will see it. */
  summary: string;
  /** The files that were touched on the branch, and the summary without its frame. */
  details: ReturnType<typeof summaryDetails>;
  /** What it cost; absent where nobody knows. */
  usage?: Usage;
}

/**
 * Summarises a branch that is left; undefined when it holds nothing that the model saw.
 * @throws BonsaiError `branch_summary_failed`; nothing was written.
 */
export async function summariseBranch(options: SummariseBranchOptions): Promise<BranchSummary | undefined> {
  try {
    return await summaryOf(options);
  } catch (cause) {
    throw branchFailure(cause);
  }
}

async function summaryOf(options: SummariseBranchOptions): Promise<BranchSummary | undefined> {
  const { summariser, focus, replaceInstructions, signal } = options;
  const source = options.source();
  let usage: Usage | undefined;
  const job: SummaryJob = {
    summariser,
    estimator: source.estimator,
    signal,
    ...(replaceInstructions && focus !== undefined ? { instructions: focus } : { focus }),
    onUsage: (each) => {
      if (each !== undefined) usage = addUsage(usage ?? emptyUsage(), each);
    },
  };
  const left = leftItems(source);
  if (left.length === 0) return undefined;
  const known = branchCarryOver(left, source);
  const prose = await branchProse(source, {
    ...job,
    record: known.record,
    areWordsCarried: known.wordsTokens > 0,
  });
  if (prose === undefined) return undefined;
  const carried = withFindings(known, { prose, items: left, source, summariser });
  const summary = branchSummaryText(prose, branchBlocks(carried), branchFrame(source));
  return { summary, details: summaryDetails(carried, prose), ...(usage === undefined ? {} : { usage }) };
}

/** With less of it to read, there is no summary of a branch. */
const SMALLEST_BRANCH_TOKENS = 100;

/** A summariser that finds the branch too long is given the newest half of it, as often as it takes. */
async function branchProse(source: BranchSource, job: SummaryJob): Promise<string | undefined> {
  let mostTokens: number | undefined;
  for (;;) {
    const part = branchPart(source, job, mostTokens);
    if (part === undefined) return undefined;
    try {
      return await askSummary(job, part.request);
    } catch (error) {
      const isTooLong = error instanceof SummaryFailure && error.overflow;
      if (!isTooLong || part.tokens <= SMALLEST_BRANCH_TOKENS) throw error;
      mostTokens = Math.max(SMALLEST_BRANCH_TOKENS, Math.floor(part.tokens / 2));
    }
  }
}

interface BranchPart {
  tokens: number;
  request: SummaryPart;
}

/**
 * The newest part of a branch, as one request has it.
 * @param mostTokens after a refusal: then halving finds what fits, whatever number came with it
 */
function branchPart(
  source: BranchSource,
  { summariser, estimator }: SummaryJob,
  mostTokens: number | undefined,
): BranchPart | undefined {
  const { projection, entries, settings, model = {} } = source;
  const limits = settings.serialize;
  const budgets = budgetsFor({ settings, model });
  const budgetTokens = partTokens(summariser, budgets, mostTokens);
  const items = branchItems({ projection, entries, budgetTokens, estimator, limits });
  if (items.length === 0) return undefined;
  const messages = items.map(originalMessage);
  const longestPart = Math.max(budgetTokens, SMALLEST_BRANCH_TOKENS);
  // One message may be larger than the budget by itself.
  const conversation = clipUntil(
    serialise(messages, limits).join("\n\n"),
    (text) => estimator.text(text) <= longestPart,
  );
  const tokens = estimator.text(conversation);
  const longest = maxSummaryTokens("branch", summariser, budgets);
  const sizes =
    mostTokens === undefined
      ? { maxSummaryTokens: longest }
      : {
          maxSummaryTokens: Math.min(mostAnswerTokens(tokens), longest),
          capacityTokens: Number.POSITIVE_INFINITY,
        };
  return { tokens, request: { kind: "branch", messages, conversation: () => conversation, ...sizes } };
}

/** The budget where the model's window is unknown. */
const DEFAULT_WINDOW_TOKENS = 128_000;
/** Instructions, tags and joints of the request. */
const INSTRUCTION_TOKENS = 1_000;

/** By the window as it is known now; where that leaves nothing after a refusal, its number was wrong. */
function partTokens(
  summariser: Summariser,
  { windowTokens = DEFAULT_WINDOW_TOKENS, reserveTokens }: Budgets,
  mostTokens: number | undefined,
): number {
  const readable = Math.max(0, requestCapacity(summariser) - INSTRUCTION_TOKENS);
  const ownTokens = windowTokens - reserveTokens;
  if (mostTokens === undefined) return Math.min(ownTokens, readable);
  return Math.min(ownTokens, mostTokens, readable < SMALLEST_BRANCH_TOKENS ? mostTokens : readable);
}

type GivenSummary = NonNullable<BeforeTreeResult["summary"]>;

/** An extension's summary of a branch: it is prose, but for what was made here and stands in it as it was. */
export function givenBranchSummary(asGiven: GivenSummary, branch: Pick<Branch, "isMerge">): GivenSummary {
  const { details } = asGiven;
  const usage = reportedUsage(asGiven.usage);
  const given = {
    summary: redactSecrets(asGiven.summary),
    ...(details !== undefined && { details }),
    ...(usage && { usage }),
  };
  if (!isOwnDetails(details)) return { ...given, summary: inert(given.summary) };
  const { carried } = summaryOfDetails(details)!;
  const changed = changedBranchSummary(given.summary, branchBlocks(carried), branchFrame(branch));
  return { ...given, summary: changed.summary, details: { ...details, prose: changed.prose } };
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

interface BranchItemsOptions {
  /** What the model saw at the branch's leaf. */
  projection: Projection;
  entries: readonly Entry[];
  budgetTokens: number;
  estimator: TokenEstimator;
  limits: CompactionSettings["serialize"];
}

/** Up to this share of the budget, a summary may still enter that does not fit. */
const SUMMARY_SHARE = 0.9;

/**
 * What the model saw of the branch, the newest first within the budget, which the newest may exceed by itself; given back
 * oldest first.
 */
export function branchItems(options: BranchItemsOptions): ViewItem[] {
  const { budgetTokens } = options;
  const chosen: ViewItem[] = [];
  let tokens = 0;
  for (const item of leftItems(options).reverse()) {
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
function requestTokens(item: ViewItem, { estimator, limits }: BranchItemsOptions): number {
  const [text = ""] = serialise([originalMessage(item)], limits);
  return Math.min(item.tokens, estimator.text(text));
}

function isSummary({ message }: ViewItem): boolean {
  return message.role === "branchSummary" || message.role === "compactionSummary";
}

export interface SummariseEntriesOptions {
  /** Oldest first: `entriesToSummarize` of a `session_before_tree` event, or others of one branch. */
  entries: readonly Entry[];
  /** Who makes the summary. */
  summariser: Summariser;
  /** What the summary should dwell on. */
  customInstructions?: string | undefined;
  /** `customInstructions` takes the place of the instructions. Default false. */
  replaceInstructions?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** What the entries of an event were taken from. */
const sources = new WeakMap<readonly Entry[], () => BranchSource>();

/** Remembers, for as long as somebody holds the entries, where they are from. Nobody may change them: they are frozen. */
export function rememberBranch(entries: readonly Entry[], source: () => BranchSource): readonly Entry[] {
  sources.set(entries, source);
  return Object.freeze(entries);
}

/**
 * The summary of a branch that would have been made by this summariser without an extension, to be returned from
 * `session_before_tree` as it is or changed. Nothing is written. Entries of one's own choice are counted without what
 * the session knows, and with the default settings.
 * @throws BonsaiError `branch_summary_failed`, also where the entries hold nothing that a model sees; the signal's
 *   reason after an abort.
 */
export async function summariseEntries(options: SummariseEntriesOptions): Promise<BranchSummary> {
  const { entries, summariser, customInstructions: focus, replaceInstructions } = options;
  const { signal = new AbortController().signal } = options;
  const source = sources.get(entries) ?? (() => sourceOf(entries));
  try {
    const summary = await summariseBranch({ source, summariser, focus, replaceInstructions, signal });
    return summary ?? nothingSeen();
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

function sourceOf(entries: readonly Entry[]): BranchSource {
  return {
    entries,
    projection: project(entries),
    estimator: byScriptEstimator,
    settings: compactionSettings({}),
  };
}

function nothingSeen(): never {
  throw new BonsaiError({
    code: "branch_summary_failed",
    message: "The branch has no messages to summarise.",
    hint: "Return nothing to leave the branch without a summary.",
  });
}
