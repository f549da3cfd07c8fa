import { redoLatestUndo, undoLatestCompaction } from "@bonsai-agent/compaction";
import type { Invocation } from "../call/invocation.ts";
import { openNamedSession } from "../call/session-file.ts";
import { withSummaryMakers } from "../call/summary-makers.ts";
import { compactionName } from "../views/compaction-record.ts";
import { span } from "../views/line.ts";
import { sizeChange } from "../views/numbers.ts";
import { contextSize } from "./context.ts";

export function undo(invocation: Invocation): Promise<undefined> {
  return report(invocation, undoLatestCompaction, "Undid");
}

export function redo(invocation: Invocation): Promise<undefined> {
  return report(invocation, redoLatestUndo, "Redid");
}

async function report(
  invocation: Invocation,
  change: typeof undoLatestCompaction,
  done: string,
): Promise<undefined> {
  const { io, output } = invocation;
  const session = openNamedSession(invocation);
  const size = () => contextSize(session, invocation);
  const changed = await io.interruptible((signal) =>
    withSummaryMakers({ invocation, session, signal, onShow: () => {} }, ({ lifecycle }) =>
      change({ session, lifecycle, contextSize: size }),
    ),
  );
  output.result(changed, () => {
    const name = compactionName(session, changed.compactionId, io.now());
    return [[span(done, "bold"), ` ${name}.`], [`Context: ${sizeChange(changed)}.`]];
  });
}
