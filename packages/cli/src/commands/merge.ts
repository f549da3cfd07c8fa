import { type BranchMerge, mergeBranch } from "@bonsai-agent/compaction";
import type { Session } from "@bonsai-agent/session";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { openNamedSession, resolveEntryId } from "../call/session-file.ts";
import { callSettings } from "../call/settings.ts";
import { interruptibleDigest, withSummaryMakers } from "../call/summary-makers.ts";
import { summaryExcerpt } from "../views/compact-view.ts";
import { type Line, paragraph } from "../views/line.ts";

/** The JSON of `bonsai session merge`. */
export interface MergeReport extends Omit<BranchMerge, "summaryEntry"> {
  summaryEntryId?: string | undefined;
  /** As the model sees it. */
  summary?: string | undefined;
  /** The extension whose summary it is, or that did not let it happen. */
  decidedBy?: string | undefined;
}

export async function run(invocation: Invocation): Promise<ExitCode> {
  const session = openNamedSession(invocation);
  const report = await merge(session, invocation);
  const { output } = invocation;
  output.result(report, () => mergeView(report, output.width));
  return report.status === "cancelled" ? ExitCode.cancelled : ExitCode.done;
}

async function merge(session: Session, invocation: Invocation): Promise<MergeReport> {
  const { args, io, options } = invocation;
  const branchId = resolveEntryId(session, args[1]!);
  return io.interruptible((signal) =>
    withProgress(io, "Summarising the branch", (onShow) =>
      withSummaryMakers({ invocation, session, signal, onShow }, async (makers) => {
        const { summariser = interruptibleDigest(), lifecycle } = makers;
        const { summaryEntry, ...merged } = await mergeBranch({
          session,
          settings: callSettings(invocation),
          branchId,
          summariser,
          signal,
          ...(lifecycle && { lifecycle }),
          ...(typeof options.focus === "string" && { focus: options.focus }),
          ...(typeof options.label === "string" && { label: options.label }),
        });
        const isTheirs = summaryEntry?.fromHook === true;
        const field = merged.status === "cancelled" ? "cancel" : isTheirs ? "summary" : undefined;
        return {
          ...merged,
          summaryEntryId: summaryEntry?.id,
          summary: summaryEntry?.summary,
          ...makers.decidedBy(field),
        };
      }),
    ),
  );
}

function* mergeView(report: MergeReport, width: number): Generator<Line> {
  const { status, summary, decidedBy } = report;
  yield* paragraph(report.detail, width);
  if (decidedBy !== undefined)
    yield [`${status === "cancelled" ? "Cancelled" : "Summary written"} by ${decidedBy}.`];
  if (summary === undefined) return;
  yield [];
  yield* summaryExcerpt(summary, width);
}
