import { contentText, saidText } from "@bonsai-agent/messages";
import {
  type BranchSummaryEntry,
  type EntryDraftWithId,
  pinChange,
  type Session,
} from "@bonsai-agent/session";
import {
  type BranchSummaryOptions,
  branchEntries,
  branchSummaryOrCancel,
  leftBranch,
  unknownPlace,
} from "./branch.ts";

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
  const branch = leftBranch(session, leafId);
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
