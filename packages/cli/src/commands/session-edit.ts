import { resolve } from "node:path";
import {
  type BranchMerge,
  mergeBranch,
  navigateTree,
  redoLatestUndo,
  undoLatestCompaction,
} from "@bonsai-agent/compaction";
import { bonsaiHome, entryParts, forkSession, openSession, type Session } from "@bonsai-agent/session";
import { wrongUsage } from "../call/failure.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { openNamedSession, resolveEntryId } from "../call/session-file.ts";
import { callSettings } from "../call/settings.ts";
import { interruptibleDigest, type SummaryMakers, withSummaryMakers } from "../call/summary-makers.ts";
import { summaryExcerpt } from "../views/compact-view.ts";
import { compactionName } from "../views/compaction-record.ts";
import { contextSize } from "../views/context-report.ts";
import { excerpt, fitLine, kindStyle, type Line, paragraph, span } from "../views/line.ts";
import { counted, sizeChange } from "../views/numbers.ts";
import { callIn, kindOf, previewSpan } from "../views/preview.ts";

/** The JSON of `bonsai session fork`. */
export interface ForkReport {
  id: string;
  file: string;
  parentSession: string;
  leafId: string | null;
  entryCount: number;
}

export async function fork(invocation: Invocation): Promise<undefined> {
  const { args, options, io, output } = invocation;
  const origin = openNamedSession(invocation);
  const file = forkSession(origin, {
    at: resolveEntryId(origin, args[1]!),
    home: bonsaiHome(io.env),
    now: new Date(io.now()),
    ...(typeof options.output === "string" ? { file: resolve(io.cwd, options.output) } : {}),
  });
  const copy = openSession(file);
  const { id, leafId } = copy;
  let entryCount = 0;
  for (const _ of copy.scan()) entryCount += 1;
  const report: ForkReport = { id, file, parentSession: origin.file!, leafId, entryCount };
  output.result(report, () => [
    [span("New session", ["bold", "green"]), ` with ${counted(entryCount, "entry", "entries")}`],
    [span("  id    ", "gray"), id],
    [span("  file  ", "gray"), file],
    [span("  of    ", "gray"), report.parentSession],
  ]);
}

/** The JSON of `bonsai session goto`. */
export interface GotoReport {
  /** Only if it was cancelled. */
  status?: "cancelled" | undefined;
  /** The position now; with a summary, the summary. */
  leafId: string | null;
  previousLeafId: string | null;
  /** The text of the chosen user message, to edit and send again. */
  editorText?: string | undefined;
  summaryEntryId?: string | undefined;
  /** The extension that wrote the summary or cancelled. */
  decidedBy?: string | undefined;
}

/** Moves the position to another entry, with a summary of the left branch on request. */
export async function goto(invocation: Invocation): Promise<ExitCode> {
  const { args, options, output } = invocation;
  const asksSummary = options.summarize === true;
  const idle = options.focus !== undefined ? "--focus" : options.model !== undefined ? "--model" : undefined;
  if (!asksSummary && idle !== undefined)
    throw wrongUsage(`${idle} needs --summarize.`, `Add --summarize, or remove ${idle}.`);
  const session = openNamedSession(invocation);
  const targetId = resolveEntryId(session, args[1]!);
  const { status, previousLeafId, editorText, summaryEntry, decidedBy } = await summarised(
    session,
    invocation,
    (makers) => navigateTree({ session, targetId, summarise: asksSummary, ...makers }),
  );
  const report: GotoReport = {
    status: status === "cancelled" ? status : undefined,
    leafId: session.leafId,
    previousLeafId,
    editorText,
    summaryEntryId: summaryEntry?.id,
    decidedBy,
  };
  output.result(report, () => gotoView(report, session, { width: output.width, asksSummary }));
  return status === "cancelled" ? ExitCode.cancelled : ExitCode.done;
}

function* gotoView(
  { status, leafId, previousLeafId, editorText, summaryEntryId, decidedBy }: GotoReport,
  session: Session,
  { width, asksSummary }: { width: number; asksSummary: boolean },
): Generator<Line> {
  const hasMoved = leafId !== previousLeafId;
  if (hasMoved) yield placeLine("was at", previousLeafId, session, width);
  yield placeLine(hasMoved ? "now at" : "still at", leafId, session, width);
  if (status === "cancelled")
    yield [`Cancelled${decidedBy === undefined ? "" : ` by ${decidedBy}`}. Nothing changed.`];
  else if (summaryEntryId !== undefined) {
    const by = decidedBy === undefined ? "" : ` (written by ${decidedBy})`;
    yield [`Added the summary of the branch as ${summaryEntryId}${by}.`];
  } else if (asksSummary) yield ["Wrote no summary: this move removes no message from the context."];
  if (editorText === undefined) return;
  yield* [[], [span("The message you went back to:", "bold")]];
  const more = " (--json shows all)";
  yield* excerpt(editorText, { width, maxLines: MAX_MESSAGE_LINES, style: "cyan", more });
}

/** Enough of a message to recognise it. */
const MAX_MESSAGE_LINES = 20;

function placeLine(words: string, id: string | null, session: Session, width: number): Line {
  const entry = id === null ? undefined : session.entry(id);
  const label = span(words.padEnd(9), "gray");
  if (entry === undefined) return [label, "the beginning"];
  const kind = kindOf(entry);
  const preview = previewSpan(entryParts(entry, callIn(session, entry)));
  return fitLine([label, span(entry.id, "bold"), "  ", span(kind, kindStyle(kind)), " ", preview], width);
}

/** The JSON of `bonsai session merge`. */
export interface MergeReport extends Omit<BranchMerge, "summaryEntry"> {
  summaryEntryId?: string | undefined;
  /** As the model sees it. */
  summary?: string | undefined;
  /** The extension that wrote the summary or cancelled. */
  decidedBy?: string | undefined;
}

export async function merge(invocation: Invocation): Promise<ExitCode> {
  const { args, output } = invocation;
  const session = openNamedSession(invocation);
  const branchId = resolveEntryId(session, args[1]!);
  const { summaryEntry, decidedBy, ...merged } = await summarised(session, invocation, (makers) =>
    mergeBranch({ session, branchId, ...makers }),
  );
  const { status, detail } = merged;
  const report: MergeReport = {
    ...merged,
    summaryEntryId: summaryEntry?.id,
    summary: summaryEntry?.summary,
    decidedBy,
  };
  const isCancelled = status === "cancelled";
  output.result(report, function* (): Generator<Line> {
    yield* paragraph(detail, output.width);
    if (decidedBy !== undefined) yield [`${isCancelled ? "Cancelled" : "Summary written"} by ${decidedBy}.`];
    if (summaryEntry !== undefined) yield* [[], ...summaryExcerpt(summaryEntry.summary, output.width)];
  });
  return isCancelled ? ExitCode.cancelled : ExitCode.done;
}

type BranchMakers = ReturnType<typeof branchMakers>;

/** Moves or merges with the named model and extensions, and adds the extension that decided. */
function summarised<Done extends { status: string; summaryEntry?: { fromHook?: boolean } }>(
  session: Session,
  invocation: Invocation,
  work: (makers: BranchMakers) => Promise<Done>,
): Promise<Done & { decidedBy?: string }> {
  const { io } = invocation;
  return io.interruptible((signal) =>
    withProgress(io, "Summarising the branch", (onShow) =>
      withSummaryMakers({ invocation, session, signal, onShow }, async (makers) => {
        const done = await work(branchMakers(invocation, makers, signal));
        const isTheirs = done.summaryEntry?.fromHook === true;
        return {
          ...done,
          ...makers.decidedBy(done.status === "cancelled" ? "cancel" : isTheirs ? "summary" : undefined),
        };
      }),
    ),
  );
}

function branchMakers(
  invocation: Invocation,
  { summariser, onProviderUnavailable, lifecycle }: SummaryMakers,
  signal: AbortSignal,
) {
  const { focus, label } = invocation.options;
  return {
    signal,
    settings: callSettings(invocation),
    summariser: summariser ?? interruptibleDigest(),
    onProviderUnavailable,
    ...(lifecycle && { lifecycle }),
    ...(typeof focus === "string" && { focus }),
    ...(typeof label === "string" && { label }),
  };
}

export function undo(invocation: Invocation): Promise<undefined> {
  return changeCompaction(invocation, undoLatestCompaction, "Undid");
}

export function redo(invocation: Invocation): Promise<undefined> {
  return changeCompaction(invocation, redoLatestUndo, "Redid");
}

async function changeCompaction(
  invocation: Invocation,
  change: typeof undoLatestCompaction,
  done: string,
): Promise<undefined> {
  const { io, output } = invocation;
  const session = openNamedSession(invocation);
  const settings = callSettings(invocation);
  const report = await io.interruptible((signal) =>
    withSummaryMakers({ invocation, session, signal, onShow: () => {} }, ({ lifecycle }) =>
      change({ session, lifecycle, contextSize: () => contextSize(session, settings) }),
    ),
  );
  const name = compactionName(session, report.compactionId, io.now());
  output.result(report, () => [[span(done, "bold"), ` ${name}.`], [`Context: ${sizeChange(report)}.`]]);
}
