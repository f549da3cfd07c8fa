import { BonsaiError } from "@bonsai-agent/messages";
import {
  type Entry,
  type EntryDraftWithId,
  type Projection,
  project,
  type Session,
} from "@bonsai-agent/session";
import type { BeforeTreeResult, CompactionLifecycle, TreePreparation } from "../events.ts";
import { checkCustomSummary } from "../ladder/extension-rung.ts";
import { digestSummariser } from "../ladder/summary-rungs.ts";
import { readContext } from "../plan/context.ts";
import type { ModelSizes } from "../plan/limits.ts";
import type { CompactionSettings } from "../settings.ts";
import type { Summariser } from "../summariser.ts";
import {
  type BranchSource,
  type BranchSummary,
  customBranchSummary,
  linkToBranch,
  summariseBranch,
} from "./summary.ts";

/** The entries of one path below its common ancestor with another path. */
export interface Branch {
  /** Its end; null for the place before every entry. */
  leafId: string | null;
  /** The deepest entry that both places descend from; null without one. */
  commonAncestorId: string | null;
  /** The entries from below the ancestor to the end, oldest first. Read on first access. */
  readonly entries: readonly Entry[];
  /** The branch's messages that the model sees. Default: those of the context at its end. */
  readonly projection?: Projection;
  /** True for a merge, which leaves no branch. Default: false. */
  readonly isMerge?: boolean;
}

/** The branch that a move of the leaf to `targetId` leaves. */
export function leftBranch(session: Session, targetId: string | null): Branch {
  return branchBetween(session, session.leafId, targetId);
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

/** The entries that a merge of a branch would add. */
export interface UnmergedBranch extends Branch {
  /** The latest summary on the path that already covers the branch. */
  mergedById?: string | undefined;
}

/**
 * The entries of the path to `branchId` that the leaf does not know, neither by its path nor by branch summaries on it.
 * Compactions are left out: the entries that they summarise are read themselves.
 * @throws BonsaiError `tree_target_unknown`, `merge_own_path`.
 */
export function unmergedBranch(session: Session, branchId: string): UnmergedBranch {
  if (session.entry(branchId) === undefined) throw unknownPlace(branchId);
  const branch = branchBetween(session, branchId, session.leafId);
  if (branch.commonAncestorId === branchId) throw ownPath(branchId, session.leafId);
  const known = knownEntries(session, session.leafId);
  const entries = branch.entries.filter((entry) => {
    const isKnown = known.has(entry.id) || (entry.type === "branch_summary" && known.has(entry.fromId));
    return !isKnown && entry.type !== "compaction";
  });
  const { leafId, commonAncestorId } = branch;
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
  const [branch, end] = isMerge
    ? ["a merged branch", ` up to ${fromId}`]
    : ["another branch", ` up to ${fromId}`];
  return fromId === "" ? branch : branch + end;
}

/** The input for the summary of a branch. */
export function branchSource(
  {
    session,
    settings,
    model,
  }: Pick<BranchSource, "settings"> & {
    session: Session;
    model?: ModelSizes | undefined;
  },
  { entries, leafId, projection, isMerge = false }: Branch,
): BranchSource {
  const reading = readContext({ session, leafId, model, estimator: settings.estimator });
  return {
    entries,
    projection: projection ?? reading.projection,
    estimator: reading.estimator,
    settings,
    model,
    isMerge,
  };
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

/** Options for the summary of a branch. */
export interface BranchSummaryOptions {
  /** The move or merge changes its leaf. */
  session: Session;
  /** Made by `compactionSettings`. */
  settings: CompactionSettings;
  /** The session's model. Default: a model with an unknown window. */
  model?: ModelSizes | undefined;
  /** Default: the built-in digest. */
  summariser?: Summariser | undefined;
  /** Topics that the summary must emphasise. */
  focus?: string | undefined;
  /** True if `focus` replaces the instructions. Default: false. */
  replaceInstructions?: boolean | undefined;
  /** Receives the events. Default: no events. */
  lifecycle?: CompactionLifecycle;
  /** Cancels the summary. */
  signal?: AbortSignal;
}

interface BranchRequest extends BranchSummaryOptions {
  branch: Branch;
  /** The entry that the summary is appended to. */
  targetId: string | null;
  /** False if the user wants no summary. */
  summarise: boolean;
  label?: string | undefined;
  signal: AbortSignal;
}

export interface BranchDecision {
  /** Undefined if the user wants none, or if the model saw nothing of the branch. */
  summary: BeforeTreeResult["summary"];
  /** True if an extension supplied the summary. */
  fromExtension: boolean;
  label: string | undefined;
}

/**
 * Asks the extensions, and makes the summary if the user wants one: for a move that leaves the branch, and for a merge.
 * Writes nothing.
 * @throws BonsaiError `branch_summary_failed`, `extension_summary_empty`.
 */
export async function branchSummaryOrCancel(request: BranchRequest): Promise<BranchDecision | "cancelled"> {
  const { signal, summarise } = request;
  const decision = await askExtensions(request);
  if (decision.cancel || signal.aborted) return "cancelled";
  // If the user wants no summary, one of an extension is ignored.
  const given = summarise ? decision.summary : undefined;
  if (given !== undefined) checkCustomSummary("session_before_tree", given.summary);
  const source = () => branchSource(request, request.branch);
  const summary = given ? customBranchSummary(given, source) : await ownSummary(request, decision);
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
      return linkToBranch(branch.entries, () => branchSource(request, branch));
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

/** The entries to write for a branch: its summary, and a label on the summary or the target. */
export function branchEntries(
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
