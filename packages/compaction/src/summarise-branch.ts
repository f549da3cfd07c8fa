import { addUsage, BonsaiError, emptyUsage, type TokenEstimator, type Usage } from "@bonsai-agent/messages";
import type { Entry, Projection, Session } from "@bonsai-agent/session";
import { askSummary, type SummaryJob } from "./ask-summary.ts";
import { type Branch, branchItems } from "./branch.ts";
import { budgetsFor, type ModelSizes } from "./budget.ts";
import { originalMessage, type ViewItem } from "./context-view.ts";
import { sessionEstimate } from "./estimator.ts";
import { type FileLists, filesOf, renderFiles } from "./file-lists.ts";
import { serialise } from "./serialise.ts";
import type { CompactionSettings } from "./settings-schema.ts";
import type { Summariser } from "./summariser.ts";
import { SummaryFailure } from "./summary-failure.ts";
import { maxSummaryTokens, requestCapacity } from "./summary-sizes.ts";
import { branchSummaryText } from "./summary-text.ts";

/** Where the entries of a branch come from, and how they are counted. */
export interface BranchSource {
  entries: readonly Entry[];
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
    entries: branch.entries,
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

/** How often a summariser that finds the branch too long is given the newest half of it. */
const HALVINGS = 2;

async function toldOf(
  options: SummariseBranchOptions,
  onUsage: SummaryJob["onUsage"],
): Promise<{ items: readonly ViewItem[]; prose: string } | undefined> {
  let mostTokens = Number.POSITIVE_INFINITY;
  for (let halvings = 0; ; halvings += 1) {
    const items = itemsFor(options, mostTokens);
    if (items.length === 0 && halvings === 0) return undefined;
    try {
      return { items, prose: await proseOf(options, items, onUsage) };
    } catch (error) {
      const isTooLong = error instanceof SummaryFailure && error.overflow;
      if (!isTooLong || halvings === HALVINGS || items.length < 2) throw error;
      mostTokens = Math.floor(conversationTokens(options, items) / 2);
    }
  }
}

function conversationTokens({ source }: SummariseBranchOptions, items: readonly ViewItem[]): number {
  return source.estimator().text(conversationOf(items, source.settings));
}

function conversationOf(items: readonly ViewItem[], { serialize }: CompactionSettings): string {
  return serialise(items.map(originalMessage), serialize).join("\n\n");
}

function itemsFor({ source, summariser }: SummariseBranchOptions, mostTokens: number): ViewItem[] {
  const { entries, settings, model = {} } = source;
  const { windowTokens = DEFAULT_WINDOW_TOKENS, reserveTokens } = budgetsFor({ settings, model });
  const budgetTokens = Math.min(
    mostTokens,
    windowTokens - reserveTokens,
    Math.max(0, requestCapacity(summariser) - INSTRUCTION_TOKENS),
  );
  const [projection, estimator] = [source.projection(), source.estimator()];
  return branchItems({ projection, entries, budgetTokens, estimator, limits: settings.serialize });
}

function proseOf(
  options: SummariseBranchOptions,
  items: readonly ViewItem[],
  onUsage: SummaryJob["onUsage"],
): Promise<string> {
  const { source, summariser, focus, replaceInstructions, signal } = options;
  const { settings, model = {} } = source;
  const messages = items.map(originalMessage);
  const job: SummaryJob = {
    summariser,
    estimator: source.estimator(),
    signal,
    onUsage,
  };
  const asked = replaceInstructions && focus !== undefined ? { instructions: focus } : { focus };
  return askSummary(
    { ...job, ...asked },
    {
      kind: "branch",
      messages,
      conversation: conversationOf(items, settings),
      maxSummaryTokens: maxSummaryTokens("branch", summariser, budgetsFor({ settings, model })),
    },
  );
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
