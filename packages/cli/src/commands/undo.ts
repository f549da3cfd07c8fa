import { type UndoReport, undoLatestCompaction } from "../app/compaction-record.ts";
import type { Invocation } from "../app/invocation.ts";
import { type Line, span } from "../app/line.ts";
import { count, counted } from "../app/numbers.ts";
import { openNamedSession } from "../app/session-file.ts";
import { contextSize } from "./context.ts";

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
