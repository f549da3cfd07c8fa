import {
  compactionName,
  redoLatestUndo,
  type UndoReport,
  undoLatestCompaction,
} from "@bonsai-agent/app/compaction-record";
import type { Invocation } from "@bonsai-agent/app/invocation";
import { span } from "@bonsai-agent/app/line";
import { sizeChange } from "@bonsai-agent/app/numbers";
import { openNamedSession } from "@bonsai-agent/app/session-file";
import { contextSize } from "./context.ts";

export async function undo(invocation: Invocation): Promise<undefined> {
  report(invocation, undoLatestCompaction, "Undid");
}

export async function redo(invocation: Invocation): Promise<undefined> {
  report(invocation, redoLatestUndo, "Redid");
}

function report(invocation: Invocation, change: typeof undoLatestCompaction, done: string): void {
  const { io, output } = invocation;
  const session = openNamedSession(invocation);
  const changed: UndoReport = change(session, () => contextSize(session, invocation));
  output.result(changed, () => {
    const name = compactionName(session, changed.compactionId, io.now());
    return [[span(done, "bold"), ` ${name}.`], [`Context: ${sizeChange(changed)}.`]];
  });
}
