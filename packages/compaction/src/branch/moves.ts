import { contentText, saidText } from "@bonsai-agent/messages";
import { count as digits } from "@bonsai-agent/messages/numbers";
import {
  type BranchSummaryEntry,
  type EntryDraftWithId,
  pinChange,
  project,
  type Session,
} from "@bonsai-agent/session";
import { type Branch, branchBetween, type UnmergedBranch, unknownPlace, unmergedBranch } from "./branch.ts";
import { type BranchDecision, type BranchSummaryOptions, branchSummaryOrCancel } from "./summary.ts";

export interface NavigateTreeOptions extends BranchSummaryOptions {
  /**
   * The entry to go to. For a user or extension message, the leaf moves to its parent, and its text is for the editor.
   */
  targetId: string;
  /** True to summarise the left branch. Default: false. */
  summarise?: boolean;
  /**
   * Set on the branch summary, else on the target, which may be the current leaf. The label of an extension has
   * priority. A cancelled navigation sets none.
   */
  label?: string;
}

export interface Navigation {
  status: "moved" | "unchanged" | "cancelled";
  /** The target of the move; after a cancelled navigation, the present leaf. */
  leafId: string | null;
  /** The leaf before the move. */
  previousLeafId: string | null;
  /** The text of the target, if it is a message of the user or an extension. */
  editorText?: string;
  /** The summary of the left branch. */
  summaryEntry?: BranchSummaryEntry;
}

/**
 * Moves the leaf as `/tree` does. The summary is made first: a failure or an abort changes nothing.
 * @throws BonsaiError `tree_target_unknown`, `branch_summary_failed`, `extension_summary_empty`.
 */
export async function navigateTree(options: NavigateTreeOptions): Promise<Navigation> {
  const { session, targetId, lifecycle, summarise = false, signal = new AbortController().signal } = options;
  const { leafId, editorText } = destination(session, targetId);
  const branch = branchBetween(session, session.leafId, leafId);
  const previousLeafId = branch.leafId;
  const edited = editorText === undefined ? {} : { editorText };
  if (leafId === previousLeafId) {
    // Moves to the current leaf only set the label; they ask no question.
    putLabel(session, targetId, options.label);
    return { status: "unchanged", leafId, previousLeafId, ...edited };
  }
  const decision = await branchSummaryOrCancel({ ...options, branch, targetId, summarise, signal });
  if (decision === "cancelled") return { status: "cancelled", leafId: previousLeafId, previousLeafId };
  const summaryEntry = move(session, leafId, branchEntries(session, decision, { branch, targetId }));
  const { fromExtension } = decision;
  await lifecycle?.notify("session_tree", {
    type: "session_tree",
    newLeafId: session.leafId,
    oldLeafId: previousLeafId,
    ...(summaryEntry === undefined ? {} : { summaryEntry, fromExtension }),
  });
  const summarised = summaryEntry === undefined ? {} : { summaryEntry };
  return { status: "moved", leafId, previousLeafId, ...edited, ...summarised };
}

function destination(session: Session, targetId: string): { leafId: string | null; editorText?: string } {
  const entry = session.entry(targetId);
  if (entry === undefined) throw unknownPlace(targetId);
  if (entry.type === "message" && entry.message?.role === "user")
    return { leafId: entry.parentId, editorText: saidText(entry.message) };
  if (entry.type === "custom_message" && pinChange(entry) === undefined)
    return { leafId: entry.parentId, editorText: contentText(entry.content) };
  return { leafId: targetId };
}

/** Moves and writes summary and label in one append. */
function move(
  session: Session,
  leafId: string | null,
  drafts: readonly EntryDraftWithId[],
): BranchSummaryEntry | undefined {
  if (drafts.length === 0) session.moveTo(leafId);
  const [first] = session.append(drafts, { under: leafId });
  return first?.type === "branch_summary" ? first : undefined;
}

function putLabel(session: Session, targetId: string, label: string | undefined): void {
  if (label !== undefined) session.append({ type: "label", targetId, label });
}

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

/** The entries to write for a branch: its summary, and a label on the summary or the target. */
function branchEntries(
  session: Session,
  { summary, fromExtension, label }: BranchDecision,
  { branch, targetId }: { branch: Branch; targetId: string | null },
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
