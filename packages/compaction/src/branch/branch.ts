import { BonsaiError, contentText, saidText } from "@bonsai-agent/messages";
import { counted } from "@bonsai-agent/messages/numbers";
import {
  type BranchSummaryEntry,
  type Entry,
  type EntryDraftWithId,
  pinChange,
  project,
  type Session,
} from "@bonsai-agent/session";
import {
  type Branch,
  type BranchDecision,
  type BranchSummaryOptions,
  branchSummaryOrCancel,
} from "./summary.ts";

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
  const { session, targetId, summarise = false, label } = options;
  const { leafId, ...edited } = destination(session, targetId);
  const branch = branchBetween(session, session.leafId, leafId);
  const previousLeafId = branch.leafId;
  if (leafId === previousLeafId) {
    // Moves to the current leaf only set the label; they ask no question.
    if (label !== undefined) session.append({ type: "label", targetId, label });
    return { status: "unchanged", leafId, previousLeafId, ...edited };
  }
  const decision = await branchSummaryOrCancel(options, { branch, targetId, summarise });
  if (decision === "cancelled") return { status: "cancelled", leafId: previousLeafId, previousLeafId };
  const summaryEntry = await write(options, decision, { branch, targetId, leafId });
  return { status: "moved", leafId, previousLeafId, ...edited, ...(summaryEntry && { summaryEntry }) };
}

function destination(session: Session, targetId: string): { leafId: string | null; editorText?: string } {
  const entry = session.entry(targetId);
  if (entry === undefined) throw unknownPlace(targetId);
  if (entry.type === "message" && entry.message?.role === "user")
    return { leafId: entry.parentId, editorText: saidText(entry.message) };
  if (entry.type === "custom_message" && entry.display !== false && pinChange(entry) === undefined)
    return { leafId: entry.parentId, editorText: contentText(entry.content) };
  return { leafId: targetId };
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
  const { session, branchId } = options;
  const { leafId } = session;
  const { mergedById, ...branch } = unmergedBranch(session, branchId);
  const entryIds = branch.entries.map(({ id }) => id);
  const here = { leafId, previousLeafId: leafId, branchId, entryIds };
  const unchanged = { status: "unchanged" as const, ...here, ...nothingNew(branchId, mergedById) };
  // Without a merge, extensions are not asked.
  if (!branch.projection.items.some(({ entry }) => pinChange(entry) === undefined)) return unchanged;
  const place = { branch, targetId: leafId };
  const decision = await branchSummaryOrCancel(options, { ...place, summarise: true });
  if (decision === "cancelled")
    return { status: "cancelled", ...here, detail: "Merge cancelled. Nothing changed." };
  if (decision.summary === undefined) return unchanged;
  // Entries can have come during the summary; they stay on the path.
  const summaryEntry = (await write(options, decision, { ...place, leafId: session.leafId }))!;
  const news = counted(entryIds.length, "entry", "entries");
  const detail = `Merged the branch that ends at ${branchId}: summary ${summaryEntry.id} replaces ${news}.`;
  return { status: "merged", ...here, leafId: session.leafId, summaryEntry, detail };
}

function nothingNew(branchId: string, mergedById?: string): Pick<BranchMerge, "mergedById" | "detail"> {
  const branch = `the branch that ends at ${branchId}`;
  if (mergedById === undefined) return { detail: `Nothing to merge: ${branch} has no new messages.` };
  return {
    mergedById,
    detail: `Nothing to merge: summary ${mergedById} on this branch already covers ${branch}.`,
  };
}

/** Writes the branch's summary, and a label on the summary or the target, under a leaf in one append. */
async function write(
  { session, lifecycle }: BranchSummaryOptions,
  { summary, fromExtension, label }: BranchDecision,
  { branch, targetId, leafId }: { branch: Branch; targetId: string | null; leafId: string | null },
): Promise<BranchSummaryEntry | undefined> {
  const { leafId: oldLeafId } = session;
  const isMerge = branch.isMerge && { isMerge: true };
  const drafts: EntryDraftWithId[] = [];
  if (summary !== undefined && branch.leafId !== null)
    drafts.push({
      type: "branch_summary",
      id: session.newId(),
      ...summary,
      fromId: branch.leafId,
      ...isMerge,
      ...(fromExtension && { fromHook: true }),
    });
  const labelled = drafts[0]?.id ?? targetId;
  if (label !== undefined && labelled !== null) drafts.push({ type: "label", targetId: labelled, label });
  if (drafts.length === 0) session.moveTo(leafId);
  const [first] = session.append(drafts, { under: leafId });
  const summaryEntry = first?.type === "branch_summary" ? first : undefined;
  await lifecycle?.notify("session_tree", {
    type: "session_tree",
    newLeafId: session.leafId,
    oldLeafId,
    ...(summaryEntry && { summaryEntry, fromExtension }),
    ...isMerge,
  });
  return summaryEntry;
}

/** The entries that the path to `leafId` has and the path to `besideId` does not have. */
export function branchBetween(session: Session, leafId: string | null, besideId: string | null): Branch {
  const commonAncestorId = commonAncestor(session, leafId, besideId);
  let entries: readonly Entry[] | undefined;
  return {
    leafId,
    commonAncestorId,
    get entries() {
      entries ??= entriesBelow(session, leafId, commonAncestorId);
      return entries;
    },
  };
}

/** Uses the index: it parses neither path. */
function commonAncestor(session: Session, leafId: string | null, otherId: string | null): string | null {
  if (leafId === null || otherId === null) return null;
  const index = session.index();
  let at = index.commonAncestor(index.find(leafId), index.find(otherId));
  // An entry whose body is lost belongs to neither path.
  while (at >= 0 && session.entryAt(at) === undefined) at = index.parent(at);
  return at < 0 ? null : index.id(at);
}

function entriesBelow(session: Session, leafId: string | null, ancestorId: string | null): Entry[] {
  const path = session.path(leafId);
  return path.slice(path.findLastIndex(({ id }) => id === ancestorId) + 1);
}

/**
 * The entries of the path to `branchId` that the leaf does not know, neither by its path nor by branch summaries on it,
 * and the latest summary on the path that already covers the branch. Compactions are left out: the entries that they
 * summarise are read themselves.
 * @throws BonsaiError `tree_target_unknown`, `merge_own_path`.
 */
function unmergedBranch(session: Session, branchId: string) {
  if (session.entry(branchId) === undefined) throw unknownPlace(branchId);
  const { leafId, commonAncestorId, entries: all } = branchBetween(session, branchId, session.leafId);
  if (commonAncestorId === branchId) throw ownPath(branchId, session.leafId);
  const known = knownEntries(session, session.leafId);
  const entries = all.filter((entry) => {
    const isKnown = known.has(entry.id) || (entry.type === "branch_summary" && known.has(entry.fromId));
    return !isKnown && entry.type !== "compaction";
  });
  const mergedById = known.get(branchId);
  return { leafId, commonAncestorId, entries, projection: project(entries), isMerge: true, mergedById };
}

/**
 * The entries that a leaf knows, by id: those of its path, and those of summarised branches, with the summary on the path.
 */
function knownEntries(session: Session, leafId: string | null): ReadonlyMap<string, string | undefined> {
  const index = session.index();
  const known = new Map<string, string | undefined>();
  const ends: Array<{ id: string | null; by: string | undefined }> = [{ id: leafId, by: undefined }];
  for (const { id: end, by } of ends)
    for (let at = end === null ? -1 : index.find(end); at >= 0; at = index.parent(at)) {
      const id = index.id(at);
      if (known.has(id)) break;
      known.set(id, by);
      const entry = index.type(at) === "branch_summary" ? session.entryAt(at) : undefined;
      if (entry?.type === "branch_summary") ends.push({ id: entry.fromId, by: by ?? entry.id });
    }
  return known;
}

/** Names the branch of a summary: "another branch up to a1b2c3d4", without an unknown id. */
export function branchWords({ fromId = "", isMerge }: { fromId?: string; isMerge?: boolean }): string {
  const branch = isMerge ? "a merged branch" : "another branch";
  return fromId === "" ? branch : `${branch} up to ${fromId}`;
}

export function unknownPlace(id: string): BonsaiError {
  return new BonsaiError({
    code: "tree_target_unknown",
    message: `This session has no entry ${id}.`,
    hint: "List the ids with `bonsai session tree FILE`.",
  });
}

function ownPath(branchId: string, leafId: string | null): BonsaiError {
  const place = branchId === leafId ? "is the current position" : "is on the current branch";
  return new BonsaiError({
    code: "merge_own_path",
    message: `Entry ${branchId} ${place}, so there is nothing to merge.`,
    hint: "Name the last entry of another branch. `bonsai session tree FILE` and /tree show them.",
  });
}
