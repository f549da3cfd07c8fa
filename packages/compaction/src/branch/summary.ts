import {
  BonsaiError,
  messageOf,
  SecretFilter,
  type TokenEstimator,
  tokenEstimator,
  type Usage,
} from "@bonsai-agent/messages";
import { escapeMarks, paragraphs, reportedUsage } from "@bonsai-agent/messages/host";
import { type Entry, type Projection, pinChange, project } from "@bonsai-agent/session";
import {
  branchSummaryText,
  carriedTokens,
  editedProse,
  recordBlocks,
  summaryDetails,
} from "../carry/carry-over.ts";
import { filesOf, renderFiles } from "../carry/files.ts";
import { checkedCarryOver } from "../carry/loss.ts";
import { recordOfItems, sessionSecrets } from "../carry/record.ts";
import { isOwnDetails, readDetails } from "../details.ts";
import type { BeforeTreeResult, TreePreparation } from "../events.ts";
import type { RunCompactionOptions } from "../flow/compaction.ts";
import { RunCost } from "../ladder/ask.ts";
import { summariseSpan } from "../ladder/chunks.ts";
import { builtInDigest } from "../ladder/digest-summariser.ts";
import { checkCustomSummary } from "../ladder/extension-rung.ts";
import type { SummarisePreparationOptions } from "../ladder/preparation.ts";
import { providerBranchProse } from "../ladder/provider-rung.ts";
import { readContext } from "../plan/context.ts";
import { budgetsFor } from "../plan/limits.ts";
import { originalMessage, viewOf } from "../plan/view.ts";
import { otherClosings } from "../record/statements.ts";
import { askedSummariser, compactionSettings } from "../settings.ts";
import type { Summariser } from "../summariser.ts";

/** Options for the summary of a branch. The move or merge changes the session's leaf. */
export interface BranchSummaryOptions
  extends Pick<
    RunCompactionOptions,
    "session" | "settings" | "model" | "summariser" | "focus" | "lifecycle" | "signal"
  > {
  /** True if `focus` replaces the instructions. Default: false. */
  replaceInstructions?: boolean | undefined;
  /**
   * Called with the reason, in a sentence, if `compaction.summarizer.kind` is `provider` and the provider cannot write this
   * summary. The model then summarises the branch as text.
   */
  onProviderUnavailable?: ((reason: string) => void) | undefined;
}

/** The entries of one path below its common ancestor with another path. */
export interface Branch {
  /** Its end; null for the place before every entry. */
  leafId: string | null;
  /** The deepest entry that both places descend from; null without one. */
  commonAncestorId: string | null;
  /** The entries from below the ancestor to the end, oldest first. Read on first access. */
  readonly entries: readonly Entry[];
  /** The branch's messages that the model sees. Default: those of the context at its end. */
  readonly projection?: Projection;
  /** True for a merge, which leaves no branch. Default: false. */
  readonly isMerge?: boolean;
}

interface BranchPlace {
  branch: Branch;
  /** The entry that the summary is appended to. */
  targetId: string | null;
  /** False if the user wants no summary. */
  summarise: boolean;
}

export interface BranchDecision {
  /** Undefined if the user wants none, or if the model saw nothing of the branch. */
  summary: BeforeTreeResult["summary"];
  fromExtension: boolean;
  label: string | undefined;
}

/**
 * Asks the extensions, and makes the summary if the user wants one: for a move that leaves the branch, and for a merge.
 * Writes nothing.
 * @throws BonsaiError `branch_summary_failed`, `extension_summary_empty`.
 */
export async function branchSummaryOrCancel(
  options: BranchSummaryOptions & { label?: string },
  place: BranchPlace,
): Promise<BranchDecision | "cancelled"> {
  const { session, settings, model, signal = new AbortController().signal } = options;
  const { branch, summarise } = place;
  const secrets = () => sessionSecrets(session, branch.leafId);
  const input = () => {
    const reading = readContext({ session, leafId: branch.leafId, model, estimator: settings.estimator });
    return branchInput({ ...reading, settings, model, ...branch, secrets: secrets() });
  };
  const asked = await askExtensions(options, place, input, signal);
  if (asked.cancel || signal.aborted) return "cancelled";
  // If the user wants no summary, one of an extension is ignored.
  const given = summarise ? asked.summary : undefined;
  if (given !== undefined) checkCustomSummary("session_before_tree", given.summary);
  const decided = { fromExtension: given !== undefined, label: asked.label ?? options.label };
  if (given !== undefined) return { ...decided, summary: customBranchSummary(given, secrets(), input) };
  if (!summarise) return { ...decided, summary: undefined };
  try {
    const summary = await summariseBranch(input, {
      summariser: askedSummariser(options) ?? builtInDigest,
      focus: asked.customInstructions ?? options.focus,
      replaceInstructions: asked.replaceInstructions ?? options.replaceInstructions,
      onProviderUnavailable: options.onProviderUnavailable,
      signal,
    });
    return signal.aborted ? "cancelled" : { ...decided, summary };
  } catch (error) {
    if (signal.aborted) return "cancelled";
    throw error;
  }
}

async function askExtensions(
  { lifecycle, focus, replaceInstructions, label }: BranchSummaryOptions & { label?: string },
  { branch, targetId, summarise }: BranchPlace,
  input: () => BranchInput,
  signal: AbortSignal,
): Promise<BeforeTreeResult> {
  const preparation: TreePreparation = {
    targetId,
    oldLeafId: branch.leafId,
    commonAncestorId: branch.commonAncestorId,
    get entriesToSummarize() {
      inputs.set(branch.entries, input);
      return Object.freeze(branch.entries);
    },
    userWantsSummary: summarise,
    ...(focus !== undefined && { customInstructions: focus }),
    ...(replaceInstructions !== undefined && { replaceInstructions }),
    ...(label !== undefined && { label }),
    ...(branch.isMerge && { isMerge: true }),
  };
  const type = "session_before_tree" as const;
  const decision = await lifecycle?.decide(type, { type, preparation, signal }, { signal });
  return decision?.result ?? {};
}

/** The entries of a branch, and how their tokens are counted. */
interface BranchSource
  extends Pick<Branch, "entries" | "isMerge">,
    Pick<BranchSummaryOptions, "settings" | "model"> {
  readonly projection: Projection;
  readonly estimator: TokenEstimator;
  readonly secrets: SecretFilter;
}

/** The branch of each event's entries, as long as a handler has them. */
const inputs = new WeakMap<readonly Entry[], () => BranchInput>();

/** A branch summary without its place in the tree. */
interface BranchSummary {
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
async function summariseBranch(
  branch: () => BranchInput,
  {
    summariser,
    focus,
    replaceInstructions,
    onProviderUnavailable = () => {},
    signal,
  }: Pick<BranchSummaryOptions, "focus" | "replaceInstructions" | "onProviderUnavailable"> & {
    summariser: Summariser;
    signal: AbortSignal;
  },
): Promise<BranchSummary | undefined> {
  try {
    const input = branch();
    const { items, known, budgets, settings, estimator, secrets } = input;
    if (items.length === 0) return undefined;
    const cost = new RunCost();
    const job = {
      summariser,
      estimator,
      budgets,
      limits: settings.serialize,
      signal,
      cost,
      ...(replaceInstructions && focus !== undefined ? { instructions: focus } : { focus }),
      record: known.record,
      secrets,
      carriesUserWords: known.wordsTokens > 0,
      kind: settings.summarizer.kind,
    };
    const messages = items.map(originalMessage);
    const prose =
      (await providerBranchProse(job, messages, onProviderUnavailable)) ??
      (await summariseSpan(job, { kind: "branch", messages }));
    return {
      ...layBranchSummary(prose, input, summariser.isExtract),
      ...(cost.usage && { usage: cost.usage }),
    };
  } catch (cause) {
    if (BonsaiError.is(cause)) throw cause;
    throw new BonsaiError({
      code: "branch_summary_failed",
      message: `Could not summarise the branch, and nothing changed: ${messageOf(cause)}`,
      hint: "Try again or use the built-in digest. /tree and /merge offer it. `bonsai session goto` and `bonsai session merge` use it without --model.",
      cause,
    });
  }
}

type BranchInput = ReturnType<typeof branchInput>;

function branchInput(source: BranchSource) {
  const { entries, projection, estimator, settings, secrets, model = {} } = source;
  const ids = new Set(entries.map((entry) => entry.id));
  // The messages that the model saw, oldest first, without pins.
  const items = viewOf(projection, estimator).items.filter(
    ({ entryId, entry }) => ids.has(entryId) && pinChange(entry) === undefined,
  );
  const budgets = budgetsFor({ settings, model });
  const span = { previous: undefined, history: items, turnPrefix: [] };
  const limits = carriedTokens(span, settings, budgets.windowTokens);
  const record = recordOfItems({
    items: items.map((item) => item.source),
    wordsTokens: settings.words.maxTokens,
    secrets,
  });
  const nothing = { pinned: [], latestRequest: undefined, closings: [], terms: [], putBack: [] };
  const known = {
    ...secrets.value(filesOf(items, entries)),
    ...nothing,
    record,
    wordsTokens: limits.words,
    namesEntries: true,
  };
  return { ...source, items, budgets, limits, known };
}

/** A branch summary is read beside a live context, so it quotes less. */
const MAX_CLOSINGS_TOKENS = 1_500;

/** Frames the prose, and adds the carried data that it leaves out. */
function layBranchSummary(
  text: string,
  { settings, limits, known, secrets, isMerge = false }: BranchInput,
  isExtract = false,
): Pick<BranchSummary, "summary" | "details"> {
  const prose = secrets.text(text);
  const hasClosings = isExtract && known.wordsTokens > 0;
  const closings = hasClosings
    ? otherClosings(known.record.closings, { maxTokens: MAX_CLOSINGS_TOKENS })
    : [];
  const putBackTokens = isExtract ? 0 : limits.putBack;
  const check = { prose, settings, termsTokens: limits.terms, putBackTokens };
  const { carried } = checkedCarryOver({ ...known, closings }, check);
  const blocks = paragraphs([...recordBlocks(carried), renderFiles(carried)]);
  return {
    summary: branchSummaryText(prose, blocks, { isMerge }),
    details: { ...summaryDetails(carried, prose), ...(isExtract && { isExtract }) },
  };
}

/** An extension's summary of a branch. One of `summariseEntries` is one of ours: only its prose counts. */
function customBranchSummary(
  given: NonNullable<BeforeTreeResult["summary"]>,
  secrets: SecretFilter,
  input: () => BranchInput,
): BranchDecision["summary"] {
  const { details } = given;
  const summary = secrets.text(given.summary);
  const usage = reportedUsage(given.usage);
  const cost = usage && { usage };
  if (!isOwnDetails(details))
    return { summary: escapeMarks(summary), ...(details !== undefined && { details }), ...cost };
  const prose = escapeMarks(editedProse(summary));
  return { ...layBranchSummary(prose, input(), readDetails(details).isExtract), ...cost };
}

export interface SummariseEntriesOptions
  extends Pick<SummarisePreparationOptions, "customInstructions" | "replaceInstructions" | "signal"> {
  /** Oldest first: `entriesToSummarize` of a `session_before_tree` event, or other entries of one branch. */
  entries: readonly Entry[];
  summariser: Summariser;
}

/**
 * Makes the summary that leaving a branch would make without an extension. Return it from `session_before_tree`,
 * unchanged or with another prose; edits of the carried blocks are ignored. Writes nothing. Entries that no event
 * supplied are counted with the default settings.
 * @throws BonsaiError `branch_summary_failed`, also for entries that no model sees; the signal's reason after an abort
 */
export async function summariseEntries({
  entries,
  summariser,
  customInstructions: focus,
  replaceInstructions,
  signal = new AbortController().signal,
}: SummariseEntriesOptions): Promise<BranchSummary> {
  const input = () =>
    branchInput({
      entries,
      projection: project(entries),
      estimator: tokenEstimator,
      settings: compactionSettings({}),
      secrets: new SecretFilter(),
    });
  const asked = { summariser, focus, replaceInstructions, signal };
  const summary = await summariseBranch(inputs.get(entries) ?? input, asked).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
  if (summary !== undefined) return summary;
  throw new BonsaiError({
    code: "branch_summary_failed",
    message: "The branch has no messages to summarise.",
    hint: "Return nothing to leave the branch without a summary.",
  });
}
