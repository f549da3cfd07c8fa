import { type Navigation, navigateTree, type Summariser } from "@bonsai-agent/compaction";
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
  refuseIdle(invocation.options);
  const session = openNamedSession(invocation);
  const navigation = await navigate(session, invocation);
  const report = gotoReport(session, navigation);
  invocation.output.result(report, () => gotoView({ report, session, width: invocation.output.width }));
  return navigation.status === "cancelled" ? ExitCode.cancelled : ExitCode.done;
}

async function navigate(session: Session, invocation: Invocation): Promise<Navigation> {
  const { args, options, io } = invocation;
  const summarise = options.summarize === true;
  const summariser = summarise ? { summariser: await summariserOf(invocation) } : {};
  return io.interruptible((signal) =>
    withProgress(io, "Summarising the branch", () =>
      navigateTree({
        session,
        targetId: resolveEntryId(session, args[1]!),
        settings: callSettings(invocation),
        summarise,
        ...summariser,
        ...(typeof options.focus === "string" ? { focus: options.focus } : {}),
        signal,
      }),
    ),
  );
}

/** Models are loaded only where one was named. */
async function summariserOf(invocation: Invocation): Promise<Summariser> {
  const { model } = invocation.options;
  if (typeof model !== "string") return interruptibleDigest();
  const { namedSummariser } = await import("../work/named-summariser.ts");
  return namedSummariser(invocation, model);
}

function gotoReport(session: Session, { previousLeafId, editorText, summaryEntry }: Navigation): GotoReport {
  return {
    leafId: session.leafId,
    previousLeafId,
    ...(editorText === undefined ? {} : { editorText }),
    ...(summaryEntry === undefined ? {} : { summaryEntryId: summaryEntry.id }),
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
