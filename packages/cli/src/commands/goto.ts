import { type Navigation, navigateTree } from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { ExitCode } from "../exit-code.ts";
import { interruptibleDigest } from "../interruptible-digest.ts";
import type { Invocation } from "../invocation.ts";
import { withProgress } from "../progress.ts";
import type { GotoReport } from "../reports/goto-report.ts";
import { openNamedSession, resolveEntryId } from "../session-file.ts";
import { callSettings } from "../settings.ts";
import { type SummaryMakers, withSummaryMakers } from "../summary-makers.ts";
import { gotoView } from "../views/goto-view.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  refuseIdle(invocation.options);
  const session = openNamedSession(invocation);
  const navigation = await navigate(session, invocation);
  const report = gotoReport(session, navigation);
  const asksSummary = invocation.options.summarize === true;
  const { width } = invocation.output;
  invocation.output.result(report, () => gotoView({ report, session, width, asksSummary }));
  return navigation.status === "cancelled" ? ExitCode.cancelled : ExitCode.done;
}

type Navigated = Navigation & { decidedBy?: string };

async function navigate(session: Session, invocation: Invocation): Promise<Navigated> {
  const { args, io } = invocation;
  const targetId = resolveEntryId(session, args[1]!);
  return io.interruptible((signal) =>
    withProgress(io, "Summarising the branch", (onShow) =>
      withSummaryMakers({ invocation, session, signal, onShow }, async (makers) => {
        const navigation = await navigateTree({
          session,
          targetId,
          signal,
          ...summaryOptions(invocation, makers),
        });
        return { ...navigation, ...decidedBy(navigation, makers) };
      }),
    ),
  );
}

function summaryOptions(invocation: Invocation, { summariser, lifecycle }: SummaryMakers) {
  const { summarize, focus, label } = invocation.options;
  return {
    settings: callSettings(invocation),
    summarise: summarize === true,
    summariser: summariser ?? interruptibleDigest(),
    ...(lifecycle === undefined ? {} : { lifecycle }),
    ...(typeof focus === "string" ? { focus } : {}),
    ...(typeof label === "string" ? { label } : {}),
  };
}

/** The extension that had the last word: by its summary, or by its no. */
function decidedBy({ status, summaryEntry }: Navigation, makers: SummaryMakers): { decidedBy?: string } {
  const named =
    status === "cancelled"
      ? makers.decidedBy("cancel")
      : summaryEntry?.fromHook === true
        ? makers.decidedBy("summary")
        : undefined;
  return named === undefined ? {} : { decidedBy: named };
}

function gotoReport(
  session: Session,
  { status, previousLeafId, editorText, summaryEntry, decidedBy }: Navigated,
): GotoReport {
  return {
    ...(status === "cancelled" ? { status } : {}),
    leafId: session.leafId,
    previousLeafId,
    ...(editorText === undefined ? {} : { editorText }),
    ...(summaryEntry === undefined ? {} : { summaryEntryId: summaryEntry.id }),
    ...(decidedBy === undefined ? {} : { decidedBy }),
  };
}

function refuseIdle(options: Invocation["options"]): void {
  if (options.summarize === true) return;
  const flag = options.focus !== undefined ? "--focus" : options.model !== undefined ? "--model" : undefined;
  if (flag === undefined) return;
  throw new BonsaiError({
    code: "wrong_usage",
    message: `${flag} is about a summary, and no summary was asked for.`,
    hint: `Add --summarize, or leave ${flag} out.`,
  });
}
