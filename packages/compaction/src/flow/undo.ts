import { BonsaiError } from "@bonsai-agent/messages";
import type { CompactionEntry, Entry, Session } from "@bonsai-agent/session";
import { compactionChange, isHiding, UndoneCompactions } from "@bonsai-agent/session/host";
import type { CompactionLifecycle } from "../events.ts";

/** JSON output of `bonsai session undo` and `bonsai session redo`. */
export interface UndoReport {
  /** The compaction that was undone or redone. */
  compactionId: string;
  /** The entry that records it. */
  entryId: string;
  /** The context before, and its estimated part. */
  tokensBefore: number;
  estimatedTokensBefore: number;
  /** The context after, and its estimated part. */
  tokensAfter: number;
  estimatedTokensAfter: number;
}

interface UndoOptions {
  session: Session;
  /** Gets `session_compact_undo`. Default: nobody is notified. */
  lifecycle?: Pick<CompactionLifecycle, "notify"> | undefined;
  /** Current size of the context, for the report. */
  contextSize: () => { tokens: number; estimatedTokens: number };
}

/**
 * Undoes the latest compaction of the current branch.
 * @throws BonsaiError `nothing_to_undo`, and what appending throws; then nothing has changed.
 */
export async function undoLatestCompaction(options: UndoOptions): Promise<UndoReport> {
  const { compaction } = options.session.projection();
  if (compaction === undefined)
    throw new BonsaiError({
      code: "nothing_to_undo",
      message: "The current branch has no compaction to undo.",
      hint: "Find compactions with `/tree` or `bonsai session tree FILE`. Switch branches with `/tree` or `bonsai session goto FILE ENTRY`.",
    });
  return change(options, { compactionEntry: compaction, isUndone: true });
}

/**
 * Redoes the latest undone compaction of the current branch. Messages after the undo stay, after the kept entries.
 * @throws BonsaiError `nothing_to_redo`, `redo_not_possible`, and what appending throws; then nothing has changed.
 */
export async function redoLatestUndo(options: UndoOptions): Promise<UndoReport> {
  const { session } = options;
  const undo = latestUndo(session);
  if (undo === undefined)
    throw new BonsaiError({
      code: "nothing_to_redo",
      message: "The current branch has no undone compaction to redo.",
      hint: "`/redo` and `bonsai session redo FILE` redo the latest undone compaction, unless another compaction followed it.",
    });
  checkStillRight(session, undo.compaction, undo.since);
  return change(options, { compactionEntry: undo.compaction, isUndone: false });
}

async function change(
  { session, lifecycle, contextSize }: UndoOptions,
  { compactionEntry, isUndone }: { compactionEntry: CompactionEntry; isUndone: boolean },
): Promise<UndoReport> {
  const { id } = compactionEntry;
  const before = contextSize();
  const entry = isUndone ? session.undoCompaction(id) : session.redoCompaction(id);
  const after = contextSize();
  const type = "session_compact_undo";
  await lifecycle?.notify(type, { type, entry, compactionEntry, isUndone });
  return {
    compactionId: id,
    entryId: entry.id,
    tokensBefore: before.tokens,
    estimatedTokensBefore: before.estimatedTokens,
    tokensAfter: after.tokens,
    estimatedTokensAfter: after.estimatedTokens,
  };
}

/** The newest undone compaction with the changes since, unless another compaction followed the undo. */
function latestUndo(session: Session): { compaction: CompactionEntry; since: readonly Entry[] } | undefined {
  const newestFirst = changesOnPath(session);
  const undone = new UndoneCompactions();
  for (const entry of newestFirst) undone.addOlder(entry);
  const latest = newestFirst.findIndex(({ type }) => type === "compaction");
  for (const [at, entry] of newestFirst.slice(0, Math.max(0, latest)).entries()) {
    const { compactionId = "", isUndone } = compactionChange(entry) ?? {};
    if (!isUndone || !undone.has(compactionId)) continue;
    const compaction = newestFirst.find(({ id }) => id === compactionId);
    if (compaction?.type === "compaction") return { compaction, since: newestFirst.slice(0, at) };
  }
  return undefined;
}

const changingTypes: ReadonlySet<string> = new Set(["compaction", "context_edit", "custom"]);

/** Entries of the path that can change the view of earlier entries, newest first. */
function changesOnPath(session: Session): Entry[] {
  const index = session.index();
  const found: Entry[] = [];
  const leaf = session.leafId === null ? -1 : index.find(session.leafId);
  for (let at = leaf; at >= 0; at = index.parent(at)) {
    const entry = changingTypes.has(index.type(at)) ? session.entryAt(at) : undefined;
    if (entry !== undefined) found.push(entry);
  }
  return found;
}

/** A summary cannot forget an entry that was removed from the context after the undo. */
function checkStillRight(session: Session, compaction: CompactionEntry, since: readonly Entry[]): void {
  const index = session.index();
  const firstKept = index.find(compaction.firstKeptEntryId);
  for (const entry of since) {
    if (entry.type !== "context_edit" || !isHiding(entry)) continue;
    if (index.find(entry.targetId) >= firstKept) continue;
    throw new BonsaiError({
      code: "redo_not_possible",
      message: `Compaction ${compaction.id} summarises entry ${entry.targetId}, which was removed from the context after the undo.`,
      hint: "Compact again with `/compact` or `bonsai compact FILE`.",
    });
  }
}
