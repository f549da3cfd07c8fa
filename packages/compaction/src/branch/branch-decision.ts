import type { EntryDraftWithId, Session } from "@bonsai-agent/session";
import type { BeforeTreeResult, CompactionLifecycle, TreePreparation } from "../events.ts";
import { checkCustomSummary } from "../ladder/custom-summary.ts";
import type { ModelSizes } from "../plan/budget.ts";
import type { CompactionSettings } from "../settings.ts";
import { digestSummariser, type Summariser } from "../summariser.ts";
import { type Branch, branchSource } from "./branch.ts";
import { type BranchSummary, givenBranchSummary, rememberBranch, summariseBranch } from "./branch-summary.ts";

/** How the summary of a branch is made, and who has a say in it. */
export interface BranchSummaryOptions {
  /** Its leaf is moved. */
  session: Session;
  /** As `compactionSettings` gives them. */
  settings: CompactionSettings;
  /** The session's model. Default: one whose window is unknown. */
  model?: ModelSizes | undefined;
  /** Who summarises. Default: the built-in digest. */
  summariser?: Summariser | undefined;
  /** What the summary should dwell on. */
  focus?: string | undefined;
  /** `focus` takes the place of the instructions. Default false. */
  replaceInstructions?: boolean | undefined;
  /** Default: nobody is asked and notified. */
  lifecycle?: CompactionLifecycle;
  /** Cancels it. Default: nothing does. */
  signal?: AbortSignal;
}

/** What is done with a branch. */
interface BranchRequest extends BranchSummaryOptions {
  branch: Branch;
  /** Where the summary is wanted. */
  targetId: string | null;
  /** False where nobody wants one. */
  summarise: boolean;
  label?: string | undefined;
  signal: AbortSignal;
}

/** What came of it. */
export interface BranchDecision {
  /** Undefined where nobody wants one, and where the branch holds nothing that the model saw. */
  summary: BeforeTreeResult["summary"];
  /** Who made the summary. */
  fromExtension: boolean;
  label: string | undefined;
}

/**
 * Asks the extensions, and makes the summary of a branch where one is wanted: for a move that leaves the branch, and for a
 * merge. Nothing is written.
 * @throws BonsaiError `branch_summary_failed`, `extension_summary_empty`.
 */
export async function decideBranch(request: BranchRequest): Promise<BranchDecision | "cancelled"> {
  const { signal, summarise } = request;
  const decision = await askExtensions(request);
  if (decision.cancel || signal.aborted) return "cancelled";
  // Who wants to leave without a summary gets none, from extensions neither.
  const given = summarise ? decision.summary : undefined;
  if (given !== undefined) checkCustomSummary("session_before_tree", given.summary);
  const summary = given ? givenBranchSummary(given, request.branch) : await ownSummary(request, decision);
  if (signal.aborted || summary === "cancelled") return "cancelled";
  return { summary, fromExtension: given !== undefined, label: decision.label ?? request.label };
}

async function askExtensions(request: BranchRequest): Promise<BeforeTreeResult> {
  const { branch, focus, replaceInstructions, label, signal } = request;
  const preparation: TreePreparation = {
    targetId: request.targetId,
    oldLeafId: branch.leafId,
    commonAncestorId: branch.commonAncestorId,
    get entriesToSummarize() {
      return rememberBranch(branch.entries, () => branchSource(request, branch));
    },
    userWantsSummary: request.summarise,
    ...(focus === undefined ? {} : { customInstructions: focus }),
    ...(replaceInstructions === undefined ? {} : { replaceInstructions }),
    ...(label === undefined ? {} : { label }),
    ...(branch.isMerge && { isMerge: true }),
  };
  const payload = { type: "session_before_tree" as const, preparation, signal };
  const decision = await request.lifecycle?.decide("session_before_tree", payload, { signal });
  return decision?.result ?? {};
}

async function ownSummary(
  request: BranchRequest,
  decision: BeforeTreeResult,
): Promise<BranchSummary | undefined | "cancelled"> {
  const { branch, signal, summariser = digestSummariser() } = request;
  if (!request.summarise) return undefined;
  try {
    return await summariseBranch({
      source: () => branchSource(request, branch),
      summariser,
      focus: decision.customInstructions ?? request.focus,
      replaceInstructions: decision.replaceInstructions ?? request.replaceInstructions,
      signal,
    });
  } catch (error) {
    if (signal.aborted) return "cancelled";
    throw error;
  }
}

/** The entries to write for a branch: its summary, and the label, on the summary where there is one. */
export function branchDrafts(
  session: Session,
  { summary, fromExtension, label }: BranchDecision,
  { branch, targetId }: Pick<BranchRequest, "branch" | "targetId">,
): EntryDraftWithId[] {
  const drafts: EntryDraftWithId[] = [];
  if (summary !== undefined && branch.leafId !== null) {
    drafts.push({
      type: "branch_summary",
      id: session.newId(),
      ...summary,
      fromId: branch.leafId,
      ...(branch.isMerge && { isMerge: true }),
      ...(fromExtension && { fromHook: true }),
    });
  }
  const labelled = drafts[0]?.id ?? targetId;
  if (label !== undefined && labelled !== null) drafts.push({ type: "label", targetId: labelled, label });
  return drafts;
}
