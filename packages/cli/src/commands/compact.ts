import { chmodSync, constants, copyFileSync } from "node:fs";
import {
  type CompactionResult,
  type CompactionSettings,
  planCompaction,
  runCompaction,
} from "@bonsai-agent/compaction";
import { cloneSession, openSession, SESSION_VERSION, type Session } from "@bonsai-agent/session";
import { NewFile, writeSessionFile } from "@bonsai-agent/session/host";
import { reportFailure } from "../call/failure.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { trialCopy } from "../call/session-copy.ts";
import { openNamedSession, outputExists, outputFile, resolveEntryId } from "../call/session-file.ts";
import { inMemory, transcriptSession, unusedSessionFile } from "../call/session-import.ts";
import { callSettings } from "../call/settings.ts";
import { interruptibleDigest, withSummaryMakers } from "../call/summary-makers.ts";
import { type CompactViewOptions, compactionReport, compactView } from "../views/compact-view.ts";
import { span } from "../views/line.ts";
import { messagesBefore } from "../views/plan-view.ts";

const PROGRESS = "Compacting";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const settings = callSettings(invocation);
  return invocation.options.dryRun === true ? plan(invocation, settings) : compact(invocation, settings);
}

/** Writes nothing and asks no model. Without a model, it tries the digest, so that the size afterwards is known. */
async function plan(invocation: Invocation, settings: CompactionSettings): Promise<ExitCode> {
  const { io, options, output } = invocation;
  if (options.extension !== undefined)
    output.notify({
      code: "extension_not_asked",
      message: "A dry run does not run extensions, because they could ask a model. The plan ignores -e.",
    });
  const imported = transcriptSession(invocation);
  const session = imported === undefined ? openNamedSession(invocation) : inMemory(imported);
  // Planned and tried in one copy, so that the context is in memory once.
  const copy = trialCopy(session, session.leafId);
  const before = messagesBefore(copy, options.again === true);
  const asked = await askedModel(invocation);
  const task = taskOf(copy, settings, invocation);
  const planned = planCompaction({ ...task, ...(asked && { summariser: asked.summariser }) });
  const isTried = asked === undefined && planned.status === "planned";
  const result = isTried
    ? await io.interruptible((signal) =>
        withProgress(io, PROGRESS, async () =>
          withTrial(planned, await runCompaction({ ...task, signal, digest: interruptibleDigest() })),
        ),
      )
    : planned;
  return finish(invocation, { result, before, file: session.file, model: asked?.model });
}

/** The model that `--model` names, for its sizes and prices: it needs no key. */
async function askedModel(invocation: Invocation) {
  const { model: reference } = invocation.options;
  if (typeof reference !== "string") return undefined;
  const { namedModel } = await import("../call/model-choice.ts");
  return namedModel(invocation, reference);
}

function withTrial(planned: CompactionResult, tried: CompactionResult): CompactionResult {
  const { status, summary, tokensAfter, sizes, rung, carried, loss } = tried;
  if (status !== "compacted" || summary === undefined) return planned;
  const { loss: _ofNoSummary, ...plan } = planned;
  return { ...plan, tokensAfter, sizes, rung, summary, ...(carried && { carried }), ...(loss && { loss }) };
}

function compact(invocation: Invocation, settings: CompactionSettings): Promise<ExitCode> {
  const { io, options } = invocation;
  return io.interruptible(async (signal) => {
    const { session, copy } = openTarget(invocation);
    try {
      const before = messagesBefore(session, options.again === true);
      const done = await withProgress(io, PROGRESS, (onShow) =>
        withSummaryMakers({ invocation, session, signal, onShow }, async (makers) => {
          const { summariser, lifecycle } = makers;
          const result = await runCompaction({
            ...taskOf(session, settings, invocation),
            signal,
            digest: interruptibleDigest(),
            ...(summariser && { summariser }),
            ...(lifecycle && { lifecycle }),
          });
          return { result, ...makers.decidedBy(decidingField(result)) };
        }),
      );
      const { status } = done.result;
      const isDone = status !== "failed" && status !== "cancelled";
      session.close();
      // Exit code 0 means that the copy exists, even if there was nothing to compact.
      if (isDone) copy?.publish();
      const file = isDone ? (copy?.path ?? session.file) : undefined;
      return finish(invocation, { ...done, before, file, isCopy: copy !== undefined });
    } finally {
      session.close();
      copy?.discard();
    }
  });
}

/** The extension that decided: by cancelling, or by its summary, even an unusable one. */
function decidingField({ status, entry }: CompactionResult): "cancel" | "compaction" | undefined {
  if (status === "cancelled") return "cancel";
  return status === "failed" || entry?.fromHook === true ? "compaction" : undefined;
}

function taskOf(session: Session, settings: CompactionSettings, { options }: Invocation) {
  const { window, focus, before, again } = options;
  return {
    session,
    settings,
    ...(typeof window === "number" ? { model: { contextWindow: window } } : {}),
    ...(typeof focus === "string" ? { focus } : {}),
    ...(again === true && { replacesLatest: true }),
    ...(typeof before === "string" ? { firstKeptEntryId: resolveEntryId(session, before) } : {}),
  };
}

/** Prints the outcome. A failure is also an error. */
function finish({ io, output }: Invocation, finished: Omit<CompactViewOptions, "width">): ExitCode {
  const { result, decidedBy } = finished;
  const { error, status } = result;
  if (output.wantsJson) output.json(compactionReport(result, finished));
  else if (error === undefined) output.lines(compactView({ ...finished, width: output.width }));
  if (error !== undefined) {
    if (decidedBy !== undefined && !output.wantsJson)
      output.note(["The summary came from ", span(decidedBy, "cyan"), "."]);
    return reportFailure(error, io, output.wantsJson);
  }
  return status === "cancelled" ? ExitCode.cancelled : ExitCode.done;
}

/** The named session, or with `-o` a copy of it; of another agent's transcript, always a new session. */
function openTarget(invocation: Invocation): { session: Session; copy?: NewFile } {
  const named = outputFile(invocation);
  const imported = transcriptSession(invocation);
  const path = named ?? (imported && unusedSessionFile(imported, invocation.io));
  if (path === undefined) return { session: openNamedSession(invocation) };
  const copy = new NewFile(path, outputExists);
  const file = copy.temporaryPath;
  try {
    if (imported === undefined) copySession(file, invocation);
    else writeSessionFile({ file, header: imported.header, entries: imported.entries });
    return { session: openSession(file), copy };
  } catch (error) {
    copy.discard();
    throw error;
  }
}

/** Copies a session byte for byte. A session of an older format becomes one of the current format. */
function copySession(file: string, invocation: Invocation): void {
  const origin = openNamedSession(invocation);
  if ((origin.header.version ?? 1) < SESSION_VERSION) cloneSession(origin, { file });
  else {
    copyFileSync(origin.file!, file, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    chmodSync(file, 0o600);
  }
  origin.close();
}
