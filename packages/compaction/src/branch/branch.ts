import { BonsaiError } from "@bonsai-agent/messages";
import { type Entry, type Projection, project, type Session } from "@bonsai-agent/session";
import type { BranchSource } from "../carry/branch-carry-over.ts";
import type { ModelSizes } from "../plan/budget.ts";
import { readContext } from "../plan/tokens.ts";

/** A part of the tree that hangs below what its end shares with another place. */
export interface Branch {
  /** Its end; null for the place before every entry. */
  leafId: string | null;
  /** The deepest entry that both places descend from; null where there is none. */
  commonAncestorId: string | null;
  /** From below the ancestor to the end, oldest first. Read when they are first asked for. */
  readonly entries: readonly Entry[];
  /** What the model sees of it. Default: what of its end's context are entries of the branch. */
  readonly projection?: Projection;
  /** It is merged, and nobody leaves it. Default false. */
  readonly isMerge?: boolean;
}

/** What is left when the leaf moves from where it is to `targetId`. */
export function leftBranch(session: Session, targetId: string | null): Branch {
  return branchBeside(session, session.leafId, targetId);
}

/** What the path to `leafId` has that the path to `besideId` has not. */
export function branchBeside(session: Session, leafId: string | null, besideId: string | null): Branch {
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

/** By the index: neither path is parsed for it. */
function commonAncestor(session: Session, leafId: string | null, otherId: string | null): string | null {
  if (leafId === null || otherId === null) return null;
  const index = session.index();
  let at = index.commonAncestor(index.find(leafId), index.find(otherId));
  // One whose body turns out to be lost is no entry of either path.
  while (at >= 0 && session.entryAt(at) === undefined) at = index.parent(at);
  return at < 0 ? null : index.id(at);
}

function entriesBelow(session: Session, leafId: string | null, ancestorId: string | null): Entry[] {
  const path = session.path(leafId);
  return path.slice(path.findLastIndex(({ id }) => id === ancestorId) + 1);
}

/** What a merge of a branch would bring to the leaf. */
export interface UnmergedBranch extends Branch {
  /** The latest summary on the path that holds what was done up to the end of the branch, where there is one. */
  mergedById?: string | undefined;
}

/**
 * What of the path to `branchId` the leaf knows neither by its own path nor by the summaries of branches on it. Compactions
 * are left out: their summaries stand for more than the branch, and what they stand for is read itself.
 * @throws BonsaiError `tree_target_unknown`, `merge_own_path`.
 */
export function unmergedBranch(session: Session, branchId: string): UnmergedBranch {
  if (session.entry(branchId) === undefined) throw unknownPlace(branchId);
  const branch = branchBeside(session, branchId, session.leafId);
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
 * The entries that a place knows, by id: those of its path, and those of the branches whose summaries are known there, with
 * the summary on the path that brought them.
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

/** What a branch summary is of, in words: `the branch that was left at a1b2c3d4`; without the id where none is known. */
export function branchWords({ fromId = "", isMerge }: { fromId?: string; isMerge?: boolean }): string {
  const [branch, end] = isMerge
    ? ["a merged branch", ` up to ${fromId}`]
    : ["another branch", ` up to ${fromId}`];
  return fromId === "" ? branch : branch + end;
}

/** A branch with what is needed to summarise it. */
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
  const reading = readContext({ session, settings, leafId, model });
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
