import {
  type CompactionResult,
  type CompactionSettings,
  planCompaction,
  runCompaction,
  sessionEstimate,
} from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { compactionReport } from "../compaction-report.ts";
import { openCompactionTarget } from "../compaction-target.ts";
import { ExitCode } from "../exit-code.ts";
import { reportFailure } from "../failure.ts";
import type { Invocation } from "../invocation.ts";
import { type ContextBefore, planPicture } from "../plan-picture.ts";
import { withProgress } from "../progress.ts";
import { rehearsal } from "../rehearsal.ts";
import { leafOf, openNamedSession } from "../session-file.ts";
import { callSettings } from "../settings.ts";
import { compactView } from "../views/compact-view.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  refuseUnbuilt(invocation.options);
  const settings = callSettings(invocation);
  return invocation.options.dryRun === true ? plan(invocation, settings) : compact(invocation, settings);
}

/** Writes nothing. The digest is quick enough to be rehearsed, so that the size afterwards is known, not guessed. */
async function plan(invocation: Invocation, settings: CompactionSettings): Promise<ExitCode> {
  const session = openNamedSession(invocation);
  const leafId = leafOf(session, invocation);
  const before = contextBefore(session, settings, leafId);
  const planned = planCompaction({
    session,
    settings,
    ...model(invocation),
    ...(leafId === null ? {} : { leafId }),
  });
  if (planned.status !== "planned")
    return finish(invocation, { result: planned, before, file: session.file! });
  const rehearsed = await compacted(rehearsal(session, leafId), settings, invocation);
  return finish(invocation, { result: foretold(planned, rehearsed), before, file: session.file! });
}

function foretold(planned: CompactionResult, rehearsed: CompactionResult): CompactionResult {
  const { status, summary, tokensAfter, rung } = rehearsed;
  return status === "compacted" && summary !== undefined
    ? { ...planned, tokensAfter, rung, summary }
    : planned;
}

async function compact(invocation: Invocation, settings: CompactionSettings): Promise<ExitCode> {
  const target = openCompactionTarget(invocation);
  const before = contextBefore(target.stage, settings);
  const result = await compacted(target.stage, settings, invocation);
  if (result.status === "failed" || result.status === "cancelled") target.discard();
  return finish(invocation, { result, before, file: target.carryOut(result) });
}

function compacted(
  session: Session,
  settings: CompactionSettings,
  invocation: Invocation,
): Promise<CompactionResult> {
  const { io, options } = invocation;
  const focus = typeof options.focus === "string" ? { focus: options.focus } : {};
  return io.interruptible((signal) =>
    withProgress(io, "Compacting", () =>
      runCompaction({ session, settings, signal, ...model(invocation), ...focus }),
    ),
  );
}

function model({ options }: Invocation): { model?: { contextWindow: number } } {
  return typeof options.window === "number" ? { model: { contextWindow: options.window } } : {};
}

function contextBefore(
  session: Session,
  settings: CompactionSettings,
  leafId: string | null = session.leafId,
): ContextBefore {
  const { items } = session.projection(leafId);
  return { items, estimator: sessionEstimate({ session, settings, leafId }).estimator };
}

interface Finished {
  result: CompactionResult;
  before: ContextBefore;
  file: string;
}

/** A failure is told twice: as a status among the results, and as an error. */
function finish({ io, output }: Invocation, { result, before, file }: Finished): ExitCode {
  const { error, status } = result;
  if (output.wantsJson) output.json(compactionReport(result));
  else if (error === undefined) {
    output.lines(compactView({ result, picture: planPicture(result, before), file, width: output.width }));
  }
  if (error !== undefined) return reportFailure(error, io, output.wantsJson);
  return status === "cancelled" ? ExitCode.cancelled : ExitCode.done;
}

function refuseUnbuilt(options: Invocation["options"]): void {
  for (const [option, flag, instead] of unbuilt) {
    if (options[option] === undefined) continue;
    throw new BonsaiError({
      code: "not_built_yet",
      message: `${flag} ${JSON.stringify(options[option])} is not possible yet.`,
      hint: instead,
    });
  }
}

const unbuilt = [
  ["model", "--model", "Leave it out: the built-in digest summarises without a model (`--digest`)."],
  ["extension", "-e", "Leave it out: extensions come with the agent."],
] as const;
