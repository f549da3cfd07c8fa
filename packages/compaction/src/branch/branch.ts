import { BonsaiError } from "@bonsai-agent/messages";
import { type Entry, type Projection, project, type Session } from "@bonsai-agent/session";

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
