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
import { gotoView } from "../views/goto-view.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  refuseIdleFocus(invocation.options);
  const session = openNamedSession(invocation);
  const navigation = await navigate(session, invocation);
  const report = gotoReport(session, navigation);
  invocation.output.result(report, () => gotoView({ report, session, width: invocation.output.width }));
  return navigation.status === "cancelled" ? ExitCode.cancelled : ExitCode.done;
}

function navigate(session: Session, invocation: Invocation): Promise<Navigation> {
  const { args, options, io } = invocation;
  const summarise = options.summarize === true;
  return io.interruptible((signal) =>
    withProgress(io, "Summarising the branch", () =>
      navigateTree({
        session,
        targetId: resolveEntryId(session, args[1]!),
        settings: callSettings(invocation),
        summarise,
        ...(summarise ? { summariser: interruptibleDigest() } : {}),
        ...(typeof options.focus === "string" ? { focus: options.focus } : {}),
        signal,
      }),
    ),
  );
}

function gotoReport(session: Session, { previousLeafId, editorText, summaryEntry }: Navigation): GotoReport {
  return {
    leafId: session.leafId,
    previousLeafId,
    ...(editorText === undefined ? {} : { editorText }),
    ...(summaryEntry === undefined ? {} : { summaryEntryId: summaryEntry.id }),
  };
}

function refuseIdleFocus(options: Invocation["options"]): void {
  if (options.focus === undefined || options.summarize === true) return;
  throw new BonsaiError({
    code: "wrong_usage",
    message: "--focus says what a summary should dwell on, and no summary was asked for.",
    hint: "Add --summarize, or leave --focus out.",
  });
}
