import { contextSize } from "../context-size.ts";
import type { Invocation } from "../invocation.ts";
import { type UndoReport, undoLatestCompaction } from "../reports/compaction-record.ts";
import { openNamedSession } from "../session-file.ts";
import { type Line, span } from "../views/line.ts";
import { count, counted } from "../views/numbers.ts";

export async function run(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const report = undoLatestCompaction(session, () => contextSize(session, invocation).tokens);
  invocation.output.result(report, () => lines(report));
}

function lines(report: UndoReport): Line[] {
  return [
    [span("Undone", "bold"), `: compaction ${report.compactionId} counts no more.`],
    [`The context went from about ${count(report.tokensBefore)} to ${counted(report.tokensAfter, "token")}.`],
  ];
}
