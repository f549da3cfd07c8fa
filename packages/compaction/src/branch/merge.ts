import { count as digits } from "@bonsai-agent/messages/numbers";
import { type BranchSummaryEntry, pinChange, project } from "@bonsai-agent/session";
import {
  type BranchSummaryOptions,
  branchEntries,
  branchSummaryOrCancel,
  type UnmergedBranch,
  unmergedBranch,
} from "./branch.ts";

export interface MergeBranchOptions extends BranchSummaryOptions {
  /** Where the branch ends that is merged: an entry beside the present path, or one that comes after the leaf. */
  branchId: string;
  /** Put on the summary. An extension's counts more. */
  label?: string;
}

export interface BranchMerge {
  /** `unchanged`: the branch holds nothing that is not known here already. */
  status: "merged" | "unchanged" | "cancelled";
  /** Where the leaf is now: with a merge, at what was written under where it was. */
  leafId: string | null;
  /** Where it was before. */
  previousLeafId: string | null;
  branchId: string;
  /** Entries of the branch that are summarised, oldest first; those that are known here already are not among them. */
  entryIds: string[];
  /** The summary of the branch. */
  summaryEntry?: BranchSummaryEntry;
  /** The earlier summary on this path that holds the branch up to its end; where that is why nothing was merged. */
  mergedById?: string;
  /** What happened, in words for people. */
  detail: string;
}

/**
 * Brings the outcome of another branch here: its summary, as an entry under the leaf. What the path knows already, by its
 * own entries or by summaries of branches on it, is not told again. The summary is made before anything is written: a
 * failure or an abort changes nothing.
 * @throws BonsaiError `tree_target_unknown`, `merge_own_path`, `branch_summary_failed`, `extension_summary_empty`.
 */
export async function mergeBranch(options: MergeBranchOptions): Promise<BranchMerge> {
  const { session, branchId, lifecycle, signal = new AbortController().signal } = options;
  const branch = unmergedBranch(session, branchId);
  const { leafId: previousLeafId } = session;
  const entryIds = branch.entries.map(({ id }) => id);
  const here = { leafId: previousLeafId, previousLeafId, branchId, entryIds };
  const unchanged = { status: "unchanged" as const, ...here, ...nothingNew(branch, branchId) };
  // Nobody is asked about what does not happen.
  if (!project(branch.entries).items.some(({ entry }) => pinChange(entry) === undefined)) return unchanged;
  const place = { branch, targetId: previousLeafId };
  const decision = await branchSummaryOrCancel({ ...options, ...place, summarise: true, signal });
  if (decision === "cancelled") return { status: "cancelled", ...here, detail: CANCELLED };
  if (decision.summary === undefined) return unchanged;
  const [entry] = session.append(branchEntries(session, decision, place));
  const summaryEntry = entry as BranchSummaryEntry;
  await lifecycle?.notify("session_tree", {
    type: "session_tree",
    newLeafId: session.leafId,
    oldLeafId: previousLeafId,
    summaryEntry,
    fromExtension: decision.fromExtension,
    isMerge: true,
  });
  const news = entryIds.length === 1 ? "1 entry" : `${digits(entryIds.length)} entries`;
  const detail = `Merged the branch that ends at ${branchId}: summary ${summaryEntry.id} replaces ${news}.`;
  return { status: "merged", ...here, leafId: session.leafId, summaryEntry, detail };
}

const CANCELLED = "Merge cancelled. Nothing changed.";

function nothingNew(
  { mergedById }: UnmergedBranch,
  branchId: string,
): Pick<BranchMerge, "mergedById" | "detail"> {
  if (mergedById === undefined)
    return {
      detail: `Nothing to merge: the branch that ends at ${branchId} has no new messages.`,
    };
  const detail = `Nothing to merge: summary ${mergedById} on this branch already covers the branch that ends at ${branchId}.`;
  return { mergedById, detail };
}
