import { manifestOf, summaryLoss } from "@bonsai-agent/compaction";
import type { SummaryLoss } from "@bonsai-agent/compaction/host";
import { BonsaiError, type TokenEstimator } from "@bonsai-agent/messages";
import type { CompactionEntry, Entry, Session } from "@bonsai-agent/session";
import { compactionChange, UndoneCompactions } from "@bonsai-agent/session/host";
import { moment, type TokenSize } from "./numbers.ts";
import { oneLine } from "./terminal-text.ts";

/** The latest compaction of a path as a derived view: what the history lost to it and what stands for it. */
export interface CompactionRecord {
  summary: string;
  /** Messages of the path that the summary stands for, those of earlier compactions included. */
  compactedMessageCount: number;
  /** Messages of the context that it put into the summary; null where its maker did not record it. */
  summarisedCount: number | null;
  tokensBefore: number;
  /** The estimated part of `tokensBefore`; null where its maker did not record it. */
  estimatedTokensBefore: number | null;
  /** As it was recorded; else an estimate, with prompt and tools as far as usage taught them. */
  tokensAfter: number;
  /** Compactions on the path that are not undone, this one included. */
  compactionCount: number;
  /** The summary that this one took over from; null for the first. */
  previousSummary: string | null;
  /** ISO 8601. */
  lastCompactedAt: string;
  /** How much of the user's words and of the terms the summary carries; null where its maker did not record it. */
  carried: NonNullable<SummaryLoss["carried"]> | null;
  /** What the summary left out, and what of that was put back; null where it was not checked. */
  loss: NonNullable<SummaryLoss["loss"]> | null;
}

/** The record of the compaction that the model's view begins with; null without one. */
export function compactionRecord(
  session: Session,
  { estimator, overheadTokens }: { estimator: TokenEstimator; overheadTokens: number },
): CompactionRecord | null {
  const [live, ...earlier] = liveCompactions(session);
  if (live === undefined) return null;
  const { estimatedTokensBefore, tokensAfter, summarised, turnPrefix } = manifestOf(live) ?? {};
  const { carried = null, loss = null } = summaryLoss(live, session.entry(live.parentId ?? ""));
  return {
    summary: live.summary,
    compactedMessageCount: compactedMessages(session, live),
    summarisedCount: recordedCount(summarised, turnPrefix),
    tokensBefore: live.tokensBefore,
    estimatedTokensBefore: typeof estimatedTokensBefore === "number" ? estimatedTokensBefore : null,
    tokensAfter: typeof tokensAfter === "number" ? tokensAfter : estimateAfter(),
    compactionCount: earlier.length + 1,
    previousSummary: earlier[0]?.summary ?? null,
    lastCompactedAt: live.timestamp,
    carried,
    loss,
  };

  function estimateAfter(): number {
    const { items } = session.projection(live!.id);
    return items.reduce((sum, item) => sum + estimator.message(item.message), overheadTokens);
  }
}

/** A damaged record can hold anything. */
function recordedCount(...ranges: ({ count: number } | undefined)[]): number | null {
  const sum = ranges.reduce((all, range) => all + Number(range?.count), 0);
  return Number.isSafeInteger(sum) ? sum : null;
}

/**
 * The compactions of the path that are not undone and not made anew, newest first: each is the live one of what stands
 * before the next. One walk up the path, which reads only compactions and custom entries.
 */
export function liveCompactions(session: Session): CompactionEntry[] {
  const live: CompactionEntry[] = [];
  let undone = new UndoneCompactions();
  const replaced = new Set<string>();
  const index = session.index();
  const leaf = session.leafId === null ? -1 : index.find(session.leafId);
  for (let at = leaf; at >= 0; at = index.parent(at)) {
    const type = index.type(at);
    const entry = type === "compaction" || type === "custom" ? session.entryAt(at) : undefined;
    if (entry !== undefined) undone.addOlder(entry);
    if (entry?.type !== "compaction" || undone.has(entry.id)) continue;
    if (entry.replacesCompactionId !== undefined) replaced.add(entry.replacesCompactionId);
    if (replaced.has(entry.id)) continue;
    live.push(entry);
    // What a later entry undid counts for the path that ends there, not for what stood before this compaction.
    undone = new UndoneCompactions();
  }
  return live;
}

function compactedMessages(session: Session, live: CompactionEntry): number {
  const index = session.index();
  const upTo = index.ancestry(index.find(live.id));
  const firstKept = upTo.findIndex((number) => index.id(number) === live.firstKeptEntryId);
  const compacted = firstKept < 0 ? upTo : upTo.slice(0, firstKept);
  return compacted.filter((number) => messageTypes.has(index.type(number))).length;
}

const messageTypes: ReadonlySet<string> = new Set(["message", "custom_message"]);

/** JSON output of `bonsai session undo` and `bonsai session redo`. */
export interface UndoReport {
  /** The compaction that was undone or redone. */
  compactionId: string;
  /** The entry that records it. */
  entryId: string;
  /** The context as it was; and the part of it that nobody reported. */
  tokensBefore: number;
  estimatedTokensBefore: number;
  /** As it is now; and the part of it that nobody reported. */
  tokensAfter: number;
  estimatedTokensAfter: number;
}

/** Like `the compaction of 14:02 (focus: the tests)`. */
export function compactionName(session: Session, id: string, nowMs: number): string {
  const entry = session.entry(id);
  const timeMs = Date.parse(entry?.timestamp ?? "");
  const time = Number.isNaN(timeMs) ? "" : ` of ${moment(timeMs, nowMs)}`;
  const { focus = "" } = (entry?.type === "compaction" && manifestOf(entry)) || {};
  return `the compaction${time}${focus === "" ? "" : ` (focus: ${oneLine(focus, 60)})`}`;
}

/**
 * Undoes the latest compaction of the current branch.
 * @param contextSize how large the context is at the moment
 * @throws BonsaiError `nothing_to_undo`, and what appending throws; then nothing has changed.
 */
export function undoLatestCompaction(session: Session, contextSize: () => TokenSize): UndoReport {
  const { compaction } = session.projection();
  if (compaction === undefined) throw nothingToUndo();
  return changed(compaction, () => session.undoCompaction(compaction.id), contextSize);
}

function changed(compaction: CompactionEntry, change: () => Entry, contextSize: () => TokenSize): UndoReport {
  const { tokens: tokensBefore, estimatedTokens: estimatedTokensBefore } = contextSize();
  const { id } = change();
  const { tokens: tokensAfter, estimatedTokens: estimatedTokensAfter } = contextSize();
  const sizes = { tokensBefore, estimatedTokensBefore, tokensAfter, estimatedTokensAfter };
  return { compactionId: compaction.id, entryId: id, ...sizes };
}

/**
 * Redoes the latest undone compaction of the current branch. Messages after the undo stay, after the kept entries.
 * @param contextSize how large the context is at the moment
 * @throws BonsaiError `nothing_to_redo`, `redo_not_possible`, and what appending throws; then nothing has changed.
 */
export function redoLatestUndo(session: Session, contextSize: () => TokenSize): UndoReport {
  const { compaction, since } = latestUndo(session) ?? nothingToRedo();
  checkStillRight(session, compaction, since);
  return changed(compaction, () => session.redoCompaction(compaction.id), contextSize);
}

/** What a redo would take back: the latest undo that stands, unless a compaction came behind it; and what came since. */
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

/** The entries of the path that can change what stands before them, newest first. */
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

/** A summary cannot forget what was taken out of the context after it had been undone. */
function checkStillRight(session: Session, compaction: CompactionEntry, since: readonly Entry[]): void {
  const index = session.index();
  const firstKept = index.find(compaction.firstKeptEntryId);
  for (const entry of since) {
    if (entry.type !== "context_edit" || entry.replacement !== null) continue;
    if (index.find(entry.targetId) >= firstKept) continue;
    throw new BonsaiError({
      code: "redo_not_possible",
      message: `Compaction ${compaction.id} summarises entry ${entry.targetId}, which was removed from the context after the undo.`,
      hint: "Compact again with `/compact` or `bonsai compact FILE`.",
    });
  }
}

function nothingToRedo(): never {
  throw new BonsaiError({
    code: "nothing_to_redo",
    message: "The current branch has no undone compaction to redo.",
    hint: "`/redo` and `bonsai session redo FILE` redo the latest undone compaction, unless another compaction followed it.",
  });
}

function nothingToUndo(): BonsaiError {
  return new BonsaiError({
    code: "nothing_to_undo",
    message: "The current branch has no compaction to undo.",
    hint: "Find compactions with `/tree` or `bonsai session tree FILE`. Switch branches with `/tree` or `bonsai session goto FILE ENTRY`.",
  });
}
