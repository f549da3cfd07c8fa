import { BonsaiError, contentText } from "@bonsai-agent/messages";
import {
  type BranchSummaryEntry,
  type EntryDraftWithId,
  pinChange,
  type Session,
} from "@bonsai-agent/session";
import {
  type Branch,
  type BranchSummary,
  branchSource,
  givenBranchSummary,
  leftBranch,
  rememberBranch,
  summariseBranch,
} from "./branch-summary.ts";
import type { ModelSizes } from "./budget.ts";
import { checkCustomSummary } from "./custom-summary.ts";
import { digestSummariser } from "./digest.ts";
import type { BeforeTreeResult, CompactionLifecycle, TreePreparation } from "./events.ts";
import type { CompactionSettings } from "./settings.ts";
import type { Summariser } from "./summariser.ts";

export interface NavigateTreeOptions {
  /** Its leaf is moved. */
  session: Session;
  /** As `compactionSettings` gives them. */
  settings: CompactionSettings;
  /** The session's model. Default: one whose window is unknown. */
  model?: ModelSizes | undefined;
  /** The entry to go to. A user or extension message: to its parent, and its text is for the editor. */
  targetId: string;
  /** Summarise the branch that is left. Default false. */
  summarise?: boolean;
  /** Who summarises. Default: the built-in digest. */
  summariser?: Summariser | undefined;
  /** What the summary should dwell on. */
  focus?: string | undefined;
  /** `focus` takes the place of the instructions. Default false. */
  replaceInstructions?: boolean | undefined;
  /**
   * Put on the summary of the branch, else on the target, also where that is where one is. An extension's counts more; a
   * navigation that is cancelled puts none.
   */
  label?: string;
  /** Default: nobody is asked and notified. */
  lifecycle?: CompactionLifecycle;
  /** Cancels it. Default: nothing does. */
  signal?: AbortSignal;
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
  const { session, lifecycle, signal = new AbortController().signal } = options;
  const { leafId, editorText } = destination(session, options.targetId);
  const branch = leftBranch(session, leafId);
  const place = { leafId, previousLeafId: branch.oldLeafId };
  const unmoved = { leafId: branch.oldLeafId, previousLeafId: branch.oldLeafId };
  const edited = editorText === undefined ? {} : { editorText };
  if (leafId === branch.oldLeafId) {
    // Nobody is asked about what does not happen; to label where one is happens.
    putLabel(session, options.targetId, options.label);
    return { status: "unchanged", ...place, ...edited };
  }
  const decision = await decide(options, branch, signal);
  if (decision.cancel || signal.aborted) return { status: "cancelled", ...unmoved };
  // Who wants to leave without a summary gets none, from extensions neither.
  const given = options.summarise ? decision.summary : undefined;
  if (given !== undefined) checkCustomSummary("session_before_tree", given.summary);
  const summary = given ? givenBranchSummary(given) : await ownSummary(options, branch, decision, signal);
  if (signal.aborted || summary === "cancelled") return { status: "cancelled", ...unmoved };
  const label = decision.label ?? options.label;
  const fromExtension = given !== undefined;
  const { targetId } = options;
  const summaryEntry = move(session, { leafId, targetId, branch, summary, label, fromExtension });
  await lifecycle?.notify("session_tree", {
    type: "session_tree",
    newLeafId: session.leafId,
    oldLeafId: branch.oldLeafId,
    ...(summaryEntry === undefined ? {} : { summaryEntry, fromExtension }),
  });
  return { status: "moved", ...place, ...edited, ...(summaryEntry === undefined ? {} : { summaryEntry }) };
}

function destination(session: Session, targetId: string): { leafId: string | null; editorText?: string } {
  const entry = session.entry(targetId);
  if (entry === undefined) {
    throw new BonsaiError({
      code: "tree_target_unknown",
      message: `There is no entry ${targetId} in this session.`,
      hint: "List the ids with `bonsai tree FILE`.",
    });
  }
  if (entry.type === "message" && entry.message?.role === "user")
    return { leafId: entry.parentId, editorText: contentText(entry.message.content) };
  if (entry.type === "custom_message" && pinChange(entry) === undefined)
    return { leafId: entry.parentId, editorText: contentText(entry.content) };
  return { leafId: targetId };
}

async function decide(
  options: NavigateTreeOptions,
  branch: Branch,
  signal: AbortSignal,
): Promise<BeforeTreeResult> {
  const { focus, replaceInstructions, label } = options;
  const preparation: TreePreparation = {
    targetId: options.targetId,
    oldLeafId: branch.oldLeafId,
    commonAncestorId: branch.commonAncestorId,
    get entriesToSummarize() {
      return rememberBranch(branch.entries, () => branchSource(options, branch));
    },
    userWantsSummary: options.summarise ?? false,
    ...(focus === undefined ? {} : { customInstructions: focus }),
    ...(replaceInstructions === undefined ? {} : { replaceInstructions }),
    ...(label === undefined ? {} : { label }),
  };
  const payload = { type: "session_before_tree" as const, preparation, signal };
  const decision = await options.lifecycle?.decide("session_before_tree", payload, { signal });
  return decision?.result ?? {};
}

async function ownSummary(
  options: NavigateTreeOptions,
  branch: Branch,
  decision: BeforeTreeResult,
  signal: AbortSignal,
): Promise<BranchSummary | undefined | "cancelled"> {
  const { summarise = false, summariser = digestSummariser() } = options;
  if (!summarise) return undefined;
  try {
    return await summariseBranch({
      source: () => branchSource(options, branch),
      summariser,
      focus: decision.customInstructions ?? options.focus,
      replaceInstructions: decision.replaceInstructions ?? options.replaceInstructions,
      signal,
    });
  } catch (error) {
    if (signal.aborted) return "cancelled";
    throw error;
  }
}

interface Move {
  leafId: string | null;
  targetId: string;
  branch: Branch;
  summary: BeforeTreeResult["summary"];
  label: string | undefined;
  fromExtension: boolean;
}

/** Moves, with the summary and the label that are wanted there, in one write: nobody asked to arrive without them. */
function move(
  session: Session,
  { leafId, targetId, branch, summary, label, fromExtension }: Move,
): BranchSummaryEntry | undefined {
  const drafts: EntryDraftWithId[] = [];
  if (summary !== undefined && branch.oldLeafId !== null) {
    const hook = fromExtension ? { fromHook: true } : {};
    const fromId = branch.oldLeafId;
    drafts.push({ type: "branch_summary", id: session.newId(), ...summary, fromId, ...hook });
  }
  if (label !== undefined) drafts.push({ type: "label", targetId: drafts[0]?.id ?? targetId, label });
  if (drafts.length === 0) session.moveTo(leafId);
  const [first] = session.append(drafts, { under: leafId });
  return first?.type === "branch_summary" ? first : undefined;
}

function putLabel(session: Session, targetId: string, label: string | undefined): void {
  if (label !== undefined) session.append({ type: "label", targetId, label });
}
