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
  /** The entry to go to. A user or extension message: to its parent, and its text is for the editor. */
  targetId: string;
  /** Summarise the branch that is left. Default false. */
  summarise?: boolean;
  /**
   * Put on the summary of the branch, else on the target, also where that is where one is. An extension's counts more; a
   * navigation that is cancelled puts none.
   */
  label?: string;
}

export interface Navigation {
  status: "moved" | "unchanged" | "cancelled";
  /** Where the leaf was sent; after a cancelled navigation, where it is still. */
  leafId: string | null;
  /** Where it was before. */
  previousLeafId: string | null;
  /** The text of the user's message, or an extension's, that was gone to. */
  editorText?: string;
  /** The summary of the branch that was left, where there is one. */
  summaryEntry?: BranchSummaryEntry;
}

/**
 * Moves the leaf as `/tree` does. The summary is made before anything is written: a failure or an abort
 * changes nothing.
 * @throws BonsaiError `tree_target_unknown`, `branch_summary_failed`, `extension_summary_empty`.
 */
export async function navigateTree(options: NavigateTreeOptions): Promise<Navigation> {
  const { session, targetId, lifecycle, summarise = false, signal = new AbortController().signal } = options;
  const { leafId, editorText } = destination(session, targetId);
  const branch = leftBranch(session, leafId);
  const previousLeafId = branch.leafId;
  const edited = editorText === undefined ? {} : { editorText };
  if (leafId === previousLeafId) {
    // Nobody is asked about what does not happen; to label where one is happens.
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

/** Moves, with the summary and the label that are wanted there, in one write: nobody asked to arrive without them. */
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
