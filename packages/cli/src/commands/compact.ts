import {
  type CompactionResult,
  type CompactionSettings,
  planCompaction,
  runCompaction,
  type Summariser,
  sessionEstimate,
} from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { openCompactionTarget } from "../compaction-target.ts";
import { ExitCode } from "../exit-code.ts";
import { reportFailure } from "../failure.ts";
import { interruptibleDigest } from "../interruptible-digest.ts";
import type { Invocation } from "../invocation.ts";
import { type ContextBefore, planPicture } from "../plan-picture.ts";
import { withProgress } from "../progress.ts";
import { rehearsal } from "../rehearsal.ts";
import { compactionReport } from "../reports/compaction-report.ts";
import { leafOf, openNamedSession } from "../session-file.ts";
import { callSettings } from "../settings.ts";
import { compactView } from "../views/compact-view.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  refuseUnbuilt(invocation.options);
  const settings = callSettings(invocation);
  return invocation.options.dryRun === true ? plan(invocation, settings) : compact(invocation, settings);
}

/**
 * Writes nothing, and asks no model. The digest is quick enough to be rehearsed, so that the size afterwards is known,
 * not guessed.
 */
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
  if (planned.status !== "planned" || invocation.options.model !== undefined)
    return finish(invocation, { result: planned, before, file: session.file! });
  const rehearsed = await invocation.io.interruptible((signal) =>
    compacted(rehearsal(session, leafId), settings, { invocation, signal }),
  );
  return finish(invocation, { result: foretold(planned, rehearsed), before, file: session.file! });
}

function foretold(planned: CompactionResult, rehearsed: CompactionResult): CompactionResult {
  const { status, summary, tokensAfter, rung } = rehearsed;
  return status === "compacted" && summary !== undefined
    ? { ...planned, tokensAfter, rung, summary }
    : planned;
}

function compact(invocation: Invocation, settings: CompactionSettings): Promise<ExitCode> {
  return invocation.io.interruptible(async (signal) => {
    const summariser = await summariserOf(invocation);
    const target = openCompactionTarget(invocation);
    try {
      const before = contextBefore(target.stage, settings);
      const result = await compacted(target.stage, settings, { invocation, signal, summariser });
      const file = isDone(result) ? target.carryOut(result) : undefined;
      return finish(invocation, { result, before, file });
    } finally {
      target.close();
    }
  });
}

/** Done is also what there was nothing to do about: exit code 0 means that the copy is there. */
function isDone({ status }: CompactionResult): boolean {
  return status !== "failed" && status !== "cancelled";
}

interface Compacting {
  invocation: Invocation;
  signal: AbortSignal;
  /** Without one, the digest summarises. */
  summariser?: Summariser | undefined;
}

function compacted(
  session: Session,
  settings: CompactionSettings,
  { invocation, signal, summariser }: Compacting,
): Promise<CompactionResult> {
  const { io, options } = invocation;
  const focus = typeof options.focus === "string" ? { focus: options.focus } : {};
  const digest = interruptibleDigest();
  const by = summariser === undefined ? {} : { summariser };
  return withProgress(io, "Compacting", () =>
    runCompaction({ session, settings, signal, digest, ...by, ...model(invocation), ...focus }),
  );
}

/** Models are loaded only where one was named. */
async function summariserOf(invocation: Invocation): Promise<Summariser | undefined> {
  const { model } = invocation.options;
  if (typeof model !== "string") return undefined;
  const { namedSummariser } = await import("../work/named-summariser.ts");
  return namedSummariser(invocation, model);
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
  /** What was, or would be, written to; undefined where nothing came of it. */
  file: string | undefined;
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

function refuseUnbuilt({ extension }: Invocation["options"]): void {
  if (extension === undefined) return;
  throw new BonsaiError({
    code: "not_built_yet",
    message: `-e ${JSON.stringify(extension)} is not possible yet.`,
    hint: "Leave it out: extensions are not built yet.",
  });
}
