import type { Invocation } from "../call/invocation.ts";
import { openNamedSession } from "../call/session-file.ts";
import {
  compactionName,
  redoLatestUndo,
  type UndoReport,
  undoLatestCompaction,
} from "../views/compaction-record.ts";
import { span } from "../views/line.ts";
import { sizeChange } from "../views/numbers.ts";
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
