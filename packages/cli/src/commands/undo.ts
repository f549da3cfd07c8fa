import { BonsaiError, chars4Estimator } from "@bonsai-agent/messages";
import { type Entry, liveCompaction, project } from "@bonsai-agent/session";
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
  const path = session.path();
  const compaction = liveCompaction(path);
  if (compaction === undefined) throw nothingToUndo();
  const entry = session.undoCompaction(compaction.id);
  const report: UndoReport = {
    compactionId: compaction.id,
    entryId: entry.id,
    tokensBefore: tokensOf(path),
    tokensAfter: tokensOf(session.path()),
  };
  invocation.output.result(report, () => lines(report));
}

function tokensOf(path: readonly Entry[]): number {
  return project(path).items.reduce((sum, item) => sum + chars4Estimator.message(item.message), 0);
}

function nothingToUndo(): BonsaiError {
  return new BonsaiError({
    code: "nothing_to_undo",
    message: "No compaction stands on the current branch.",
    hint: "`bonsai tree FILE` shows where the compactions are; `bonsai goto` leads to another branch.",
  });
}

function lines(report: UndoReport): Line[] {
  return [
    [span("Undone", "bold"), `: compaction ${report.compactionId} counts no more.`],
    [`The context went from about ${count(report.tokensBefore)} to ${counted(report.tokensAfter, "token")}.`],
  ];
}
