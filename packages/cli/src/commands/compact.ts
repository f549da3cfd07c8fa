import { chmodSync, constants, copyFileSync } from "node:fs";
import {
  type CompactionResult,
  type CompactionSettings,
  planCompaction,
  runCompaction,
} from "@bonsai-agent/compaction";
import { originalProjection } from "@bonsai-agent/compaction/host";
import {
  cloneSession,
  type Entry,
  openSession,
  type ProjectionItem,
  SESSION_VERSION,
  type Session,
} from "@bonsai-agent/session";
import { NewFile, writeSessionFile } from "@bonsai-agent/session/host";
import type { ImportedSession } from "@bonsai-agent/transcripts";
import { reportFailure } from "../call/failure.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { draftOf, trialCopy } from "../call/session-copy.ts";
import { leafOf, openNamedSession, outputExists, outputFile, resolveEntryId } from "../call/session-file.ts";
import { callSettings } from "../call/settings.ts";
import { interruptibleDigest, type SummaryMakers, withSummaryMakers } from "../call/summary-makers.ts";
import { inMemory, transcriptSession, unusedSessionFile } from "../call/transcript-session.ts";
import { compactionReport, compactView, type PlannedCost, plannedCost } from "../views/compact-view.ts";
import { span } from "../views/line.ts";
import { planPicture } from "../views/plan-view.ts";

const progressLabel = "Compacting";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const settings = callSettings(invocation);
  return invocation.options.dryRun === true ? plan(invocation, settings) : compact(invocation, settings);
}

/**
 * Writes nothing, and asks no model and no extension, which could ask one. The digest is quick enough to be tried,
 * so that the size afterwards is known, not guessed.
 */
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
  const { session: copy } = trialCopy(session, leafOf(session, invocation));
  const before = contextBefore(copy, invocation);
  const asked = await askedModel(invocation);
  const planned = planCompaction({
    ...taskOf(copy, settings, invocation),
    ...(asked && { summariser: asked.summariser }),
  });
  const isTried = asked === undefined && planned.status === "planned";
  const result = isTried
    ? await io.interruptible((signal) =>
        withProgress(io, progressLabel, async () =>
          withTrial(planned, await compacted(copy, settings, { invocation, signal })),
        ),
      )
    : planned;
  const cost = asked && plannedCost(planned, asked.model);
  return finish(invocation, { result, before, file: session.file, ...(cost && { cost }) });
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
  const { io } = invocation;
  return io.interruptible(async (signal) => {
    const target = openCompactionTarget(invocation);
    const { session, isCopy } = target;
    try {
      const before = contextBefore(session, invocation);
      const done = await withProgress(io, progressLabel, (onShow) =>
        withSummaryMakers({ invocation, session, signal, onShow }, async (makers) => {
          const result = await compacted(session, settings, { invocation, signal, makers });
          return { result, ...makers.decidedBy(decidingField(result)) };
        }),
      );
      const { status } = done.result;
      // Exit code 0 means that the copy is there, also where there was nothing to do.
      const file = status === "failed" || status === "cancelled" ? undefined : target.carryOut();
      return finish(invocation, { ...done, before, file, isCopy });
    } finally {
      target.close();
    }
  });
}

/** The extension that decided: by cancelling, or by its summary, even an unusable one. */
function decidingField({ status, entry }: CompactionResult): "cancel" | "compaction" | undefined {
  if (status === "cancelled") return "cancel";
  return status === "failed" || entry?.fromHook === true ? "compaction" : undefined;
}

interface Compacting {
  invocation: Invocation;
  signal: AbortSignal;
  /** Without them, the digest summarises and nobody else is asked. */
  makers?: SummaryMakers;
}

function compacted(
  session: Session,
  settings: CompactionSettings,
  { invocation, signal, makers }: Compacting,
): Promise<CompactionResult> {
  const { summariser, lifecycle } = makers ?? {};
  return runCompaction({
    ...taskOf(session, settings, invocation),
    signal,
    digest: interruptibleDigest(),
    ...(summariser && { summariser }),
    ...(lifecycle && { lifecycle }),
  });
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

/** The messages that the compaction reads. With `--again`, the original ones of the latest compaction. */
function contextBefore(session: Session, { options }: Invocation): readonly ProjectionItem[] {
  const { items, compaction } = session.projection();
  return options.again === true && compaction !== undefined ? originalProjection(session).items : items;
}

interface Finished {
  result: CompactionResult;
  /** The extension that had the last word. */
  decidedBy?: string;
  before: readonly ProjectionItem[];
  /** In a dry run with a model: what it would be asked, and what that would cost. */
  cost?: PlannedCost;
  /** The file that was, or would be, written; undefined if there is none. */
  file: string | undefined;
  /** The file is another than the one that was named. */
  isCopy?: boolean;
}

/** A failure shows twice: as a status among the results, and as an error. */
function finish({ io, output }: Invocation, finished: Finished): ExitCode {
  const { result, decidedBy, before } = finished;
  const { error, status } = result;
  if (output.wantsJson) output.json(compactionReport(result, finished));
  else if (error === undefined) {
    const { width } = output;
    output.lines(compactView({ ...finished, picture: planPicture(result, before), width }));
  }
  if (error !== undefined) {
    if (decidedBy !== undefined && !output.wantsJson)
      output.note(["The summary came from ", span(decidedBy, "cyan"), "."]);
    return reportFailure(error, io, output.wantsJson);
  }
  return status === "cancelled" ? ExitCode.cancelled : ExitCode.done;
}

/** The place of a compaction. */
interface CompactionTarget {
  /** The session itself, or with `--leaf` a copy in memory that stands at that entry. */
  session: Session;
  /** It goes to a file of its own. */
  isCopy: boolean;
  /** Writes what came of it, and gives back the file that holds it: with `-o`, only now there is one. */
  carryOut(): string;
  /** Ends the use of it. What was not carried out is as it was found. */
  close(): void;
}

/** The named session, or with `-o` a copy of it; of another agent's transcript, always a new session. */
function openCompactionTarget(invocation: Invocation): CompactionTarget {
  const named = outputFile(invocation);
  const imported = transcriptSession(invocation);
  const path = named ?? (imported && unusedSessionFile(imported, invocation.io));
  if (path === undefined) return target({ session: openNamedSession(invocation), invocation });
  const copy = new NewFile(path, outputExists);
  try {
    const session = imported ? written(copy.temporaryPath, imported) : copied(copy.temporaryPath, invocation);
    return target({ session, copy, invocation });
  } catch (error) {
    copy.discard();
    throw error;
  }
}

interface Opened {
  session: Session;
  /** The session's file, until it is published. */
  copy?: NewFile;
  invocation: Invocation;
}

function target({ session, copy, invocation }: Opened): CompactionTarget {
  const leafId = leafOf(session, invocation);
  const trial = leafId === session.leafId ? undefined : trialCopy(session, leafId);
  return {
    session: trial?.session ?? session,
    isCopy: copy !== undefined,
    carryOut: () => {
      if (trial !== undefined) repeat(session, leafId, trial.added());
      session.close();
      copy?.publish();
      return copy?.path ?? session.file!;
    },
    close: () => {
      session.close();
      copy?.discard();
    },
  };
}

function written(file: string, { header, entries }: ImportedSession): Session {
  writeSessionFile({ file, header, entries });
  return openSession(file);
}

/** A copy is byte for byte; of an older format it is one of today's, for the session could not go on in it. */
function copied(copy: string, invocation: Invocation): Session {
  const origin = openNamedSession(invocation);
  const old = (origin.header.version ?? 1) < SESSION_VERSION;
  if (old) cloneSession(origin, { file: copy });
  else {
    copyFileSync(origin.file!, copy, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    chmodSync(copy, 0o600);
  }
  origin.close();
  // Its notices came with the origin.
  return openSession(copy);
}

/** Writes the work on a copy in one go: a cancelled or failed run has written nothing. */
function repeat(session: Session, leafId: string | null, written: readonly Entry[]): void {
  if (written.length === 0) return;
  session.append(written.map(draftOf), { under: leafId });
}
