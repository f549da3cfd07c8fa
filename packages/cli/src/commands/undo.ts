import { redoLatestUndo, type UndoReport, undoLatestCompaction } from "@bonsai-agent/app/compaction-record";
import type { Invocation } from "@bonsai-agent/app/invocation";
import { type Line, span } from "@bonsai-agent/app/line";
import { sizeChange } from "@bonsai-agent/app/numbers";
import { openNamedSession } from "@bonsai-agent/app/session-file";
import { contextSize } from "./context.ts";

export async function undo(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const report = undoLatestCompaction(session, () => contextSize(session, invocation));
  invocation.output.result(report, () => lines(report, "Undid"));
}

export async function redo(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const report = redoLatestUndo(session, () => contextSize(session, invocation));
  invocation.output.result(report, () => lines(report, "Redid"));
}

function lines(report: UndoReport, done: string): Line[] {
  return [[span(done, "bold"), ` compaction ${report.compactionId}.`], [`Context: ${sizeChange(report)}.`]];
}
