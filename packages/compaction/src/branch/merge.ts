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
  /** The end of the merged branch: an entry of another path, or one after the leaf. */
  branchId: string;
  /** Set on the summary. The label of an extension has priority. */
  label?: string;
}

export interface BranchMerge {
  /** `unchanged`: everything of the branch is known here already. */
  status: "merged" | "unchanged" | "cancelled";
  /** The present leaf: after a merge, the new summary or its label. */
  leafId: string | null;
  /** The leaf before the merge. */
  previousLeafId: string | null;
  branchId: string;
  /** The summarised entries of the branch, oldest first, without those that are known here already. */
  entryIds: string[];
  /** The summary of the branch. */
  summaryEntry?: BranchSummaryEntry;
  /** The earlier summary on this path that already covers the branch, if nothing was merged for that reason. */
  mergedById?: string;
  /** The outcome in a sentence for the user. */
  detail: string;
}

/**
 * Summarises another branch into the current one, as an entry after the leaf. Leaves out entries that the path knows
 * already. The summary is made first: a failure or an abort changes nothing.
 * @throws BonsaiError `tree_target_unknown`, `merge_own_path`, `branch_summary_failed`, `extension_summary_empty`.
 */
export async function mergeBranch(options: MergeBranchOptions): Promise<BranchMerge> {
  const { session, branchId, lifecycle, signal = new AbortController().signal } = options;
  const branch = unmergedBranch(session, branchId);
  const { leafId: previousLeafId } = session;
  const entryIds = branch.entries.map(({ id }) => id);
  const here = { leafId: previousLeafId, previousLeafId, branchId, entryIds };
  const unchanged = { status: "unchanged" as const, ...here, ...nothingNew(branch, branchId) };
  // Without a merge, extensions are not asked.
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
