import { addUsage, BonsaiError, emptyUsage, type TokenEstimator, type Usage } from "@bonsai-agent/messages";
import type { Entry, Projection, Session } from "@bonsai-agent/session";
import { askSummary, type SummaryJob } from "./ask-summary.ts";
import { type Branch, branchItems } from "./branch.ts";
import { budgetsFor, type ModelSizes } from "./budget.ts";
import { clip } from "./clip.ts";
import { originalMessage, type ViewItem } from "./context-view.ts";
import { sessionEstimate } from "./estimator.ts";
import { type FileLists, filesOf, renderFiles } from "./file-lists.ts";
import { inert } from "./marks.ts";
import { isMadeHere } from "./own-details.ts";
import { serialise } from "./serialise.ts";
import type { CompactionSettings } from "./settings-schema.ts";
import type { Summariser } from "./summariser.ts";
import { summaryOfDetails } from "./summary-details.ts";
import { SummaryFailure } from "./summary-failure.ts";
import { maxSummaryTokens, mostAnswerTokens, requestCapacity } from "./summary-sizes.ts";
import { branchSummaryText, changedBranchSummary } from "./summary-text.ts";

/** Where the entries of a branch come from, and how they are counted. */
export interface BranchSource {
  /** Oldest first. */
  readonly entries: readonly Entry[];
  /** What the model saw at the branch's leaf. */
  projection: () => Projection;
  estimator: () => TokenEstimator;
  settings: CompactionSettings;
  model?: ModelSizes;
}

export interface SummariseBranchOptions {
  source: BranchSource;
  summariser: Summariser;
  focus?: string;
  /** The focus text takes the place of the instructions. */
  replaceInstructions?: boolean;
  signal: AbortSignal;
}

/** The fields of a branch summary, without its place. */
export interface BranchSummary {
  summary: string;
  details: FileLists & { prose: string };
  usage?: Usage;
}

/** The budget where the model's window is unknown. */
const DEFAULT_WINDOW_TOKENS = 128_000;
/** Instructions, tags and joints of the request. */
const INSTRUCTION_TOKENS = 1_000;

/** A branch of a session. */
export function branchSource(
  from: { session: Session; settings: CompactionSettings; model?: ModelSizes },
  branch: Branch,
): BranchSource {
  const { session, settings, model } = from;
  return {
    get entries() {
      return branch.entries;
    },
    projection: () => session.projection(branch.oldLeafId),
    estimator: () => sessionEstimate({ session, settings }).estimator,
    settings,
    ...(model === undefined ? {} : { model }),
  };
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
  let usage: Usage | undefined;
  const onUsage = (each: Usage | undefined) => {
    if (each !== undefined) usage = addUsage(usage ?? emptyUsage(), each);
  };
  const told = await toldOf(options, onUsage);
  if (told === undefined) return undefined;
  const { items, prose } = told;
  const files = filesOf(items, options.source.entries);
  const details = { ...files, prose };
  const summary = branchSummaryText(prose, renderFiles(files));
  return { summary, details, ...(usage === undefined ? {} : { usage }) };
}

/** With less of it to read, there is no summary of a branch. */
const SMALLEST_BRANCH_TOKENS = 100;

/** A summariser that finds the branch too long is given the newest half of it, as often as it takes. */
async function toldOf(
  options: SummariseBranchOptions,
  onUsage: SummaryJob["onUsage"],
): Promise<{ items: readonly ViewItem[]; prose: string } | undefined> {
  let mostTokens: number | undefined;
  for (;;) {
    const part = branchPart(options, mostTokens);
    if (part === undefined) return undefined;
    try {
      return { items: part.items, prose: await proseOf(options, part, onUsage) };
    } catch (error) {
      const isTooLong = error instanceof SummaryFailure && error.overflow;
      if (!isTooLong || part.tokens <= SMALLEST_BRANCH_TOKENS) throw error;
      mostTokens = Math.max(SMALLEST_BRANCH_TOKENS, Math.floor(part.tokens / 2));
    }
  }
}

/** The newest part of a branch, as one request has it. */
interface BranchPart {
  items: readonly ViewItem[];
  conversation: string;
  tokens: number;
  /** True after a refusal: then halving tells what fits, whatever number came with it. */
  wasRefused: boolean;
}

function branchPart(options: SummariseBranchOptions, mostTokens: number | undefined): BranchPart | undefined {
  const { source } = options;
  const estimator = source.estimator();
  const budgetTokens = budgetOf(options, mostTokens);
  const { entries, settings } = source;
  const limits = settings.serialize;
  const items = branchItems({ projection: source.projection(), entries, budgetTokens, estimator, limits });
  if (items.length === 0) return undefined;
  const conversation = serialise(items.map(originalMessage), limits).join("\n\n");
  const text = fitted(conversation, Math.max(budgetTokens, SMALLEST_BRANCH_TOKENS), estimator);
  return {
    ...{ items, conversation: text, tokens: estimator.text(text) },
    wasRefused: mostTokens !== undefined,
  };
}

/** One message may be larger than the budget by itself: its middle is left out. */
function fitted(conversation: string, mostTokens: number, estimator: TokenEstimator): string {
  let text = conversation;
  for (let chars = text.length; estimator.text(text) > mostTokens && chars > 1; ) {
    chars = Math.floor(chars / 2);
    text = clip(conversation, chars);
  }
  return text;
}

/** By the window as it is known now; where that leaves nothing after a refusal, its number was wrong. */
function budgetOf({ source, summariser }: SummariseBranchOptions, mostTokens: number | undefined): number {
  const { settings, model = {} } = source;
  const { windowTokens = DEFAULT_WINDOW_TOKENS, reserveTokens } = budgetsFor({ settings, model });
  const readable = Math.max(0, requestCapacity(summariser) - INSTRUCTION_TOKENS);
  const ownTokens = windowTokens - reserveTokens;
  if (mostTokens === undefined) return Math.min(ownTokens, readable);
  return Math.min(ownTokens, mostTokens, readable < SMALLEST_BRANCH_TOKENS ? mostTokens : readable);
}

function proseOf(
  options: SummariseBranchOptions,
  { items, conversation, tokens, wasRefused }: BranchPart,
  onUsage: SummaryJob["onUsage"],
): Promise<string> {
  const { source, summariser, focus, replaceInstructions, signal } = options;
  const { settings, model = {} } = source;
  const job: SummaryJob = { summariser, estimator: source.estimator(), signal, onUsage };
  const asked = replaceInstructions && focus !== undefined ? { instructions: focus } : { focus };
  const longest = maxSummaryTokens("branch", summariser, budgetsFor({ settings, model }));
  return askSummary(
    { ...job, ...asked },
    {
      kind: "branch",
      messages: items.map(originalMessage),
      conversation,
      maxSummaryTokens: wasRefused ? Math.min(mostAnswerTokens(tokens), longest) : longest,
      ...(wasRefused && { capacityTokens: Number.POSITIVE_INFINITY }),
    },
  );
}

/** An extension's summary of a branch: it is prose, but for what was made here and stands in it as it was. */
export function givenBranchSummary<Given extends { summary: string; details?: unknown }>(
  given: Given,
): Given {
  const { details } = given;
  if (!isMadeHere(details)) return { ...given, summary: inert(given.summary) };
  const { carried } = summaryOfDetails(details)!;
  const changed = changedBranchSummary(given.summary, renderFiles(carried));
  return { ...given, summary: changed.summary, details: { ...details, prose: changed.prose } };
}

function branchFailure(cause: unknown): BonsaiError {
  if (BonsaiError.is(cause)) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  return new BonsaiError({
    code: "branch_summary_failed",
    message: `The branch was not summarised, and nothing was moved: ${message}`,
    hint: "Try again, move without a summary, or summarise with the built-in digest.",
    cause,
  });
}
