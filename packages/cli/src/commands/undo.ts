import { BonsaiError } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { contextSize } from "../context-size.ts";
import type { Invocation } from "../invocation.ts";
import { openNamedSession } from "../session-file.ts";
import { type Line, span } from "../views/line.ts";
import { count, counted } from "../views/numbers.ts";

/** What `bonsai undo --json` prints. */
export interface UndoReport {
  /** The compaction that counts no more. */
  compactionId: string;
  /** The entry that says so. */
  entryId: string;
  /** Estimates of the context. */
  tokensBefore: number;
  tokensAfter: number;
}

export async function run(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const report = undoLatestCompaction(session, () => contextSize(session, invocation).tokens);
  invocation.output.result(report, () => lines(report));
}

/**
 * Takes the latest compaction of the current branch back.
 * @param contextTokens how large the context is at the moment
 * @throws BonsaiError `nothing_to_undo`, and what appending throws; then nothing has changed.
 */
export function undoLatestCompaction(session: Session, contextTokens: () => number): UndoReport {
  const { compaction } = session.projection();
  if (compaction === undefined) throw nothingToUndo();
  const tokensBefore = contextTokens();
  const { id } = session.undoCompaction(compaction.id);
  return { compactionId: compaction.id, entryId: id, tokensBefore, tokensAfter: contextTokens() };
}

function nothingToUndo(): BonsaiError {
  return new BonsaiError({
    code: "nothing_to_undo",
    message: "No compaction stands on the current branch.",
    hint: "`/tree` or `bonsai tree FILE` shows where the compactions are; `/tree` or `bonsai goto` leads to another branch.",
  });
}

function lines(report: UndoReport): Line[] {
  return [
    [span("Undone", "bold"), `: compaction ${report.compactionId} counts no more.`],
    [`The context went from about ${count(report.tokensBefore)} to ${counted(report.tokensAfter, "token")}.`],
  ];
}
