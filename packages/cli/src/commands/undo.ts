import { BonsaiError } from "@bonsai-agent/messages";
import { liveCompaction } from "@bonsai-agent/session";
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
  const compaction = liveCompaction(session.path());
  if (compaction === undefined) throw nothingToUndo();
  const before = contextSize(session, invocation);
  const entry = session.undoCompaction(compaction.id);
  const report: UndoReport = {
    compactionId: compaction.id,
    entryId: entry.id,
    tokensBefore: before.tokens,
    tokensAfter: contextSize(session, invocation).tokens,
  };
  invocation.output.result(report, () => lines(report));
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
