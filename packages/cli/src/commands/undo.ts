import { type UndoReport, undoLatestCompaction } from "@bonsai-agent/app/compaction-record";
import type { Invocation } from "@bonsai-agent/app/invocation";
import { type Line, span } from "@bonsai-agent/app/line";
import { count, counted } from "@bonsai-agent/app/numbers";
import { openNamedSession } from "@bonsai-agent/app/session-file";
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
