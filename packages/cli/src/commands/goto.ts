import { type Navigation, navigateTree } from "@bonsai-agent/compaction";
import { entryParts, type Session } from "@bonsai-agent/session";
import { wrongUsage } from "../call/failure.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { openNamedSession, resolveEntryId } from "../call/session-file.ts";
import { callSettings } from "../call/settings.ts";
import { interruptibleDigest, type SummaryMakers, withSummaryMakers } from "../call/summary-makers.ts";
import { fitLine, kindStyle, type Line, quoted, span } from "../views/line.ts";
import { counted } from "../views/numbers.ts";
import { callIn, kindOf, previewSpan } from "../views/preview.ts";
import { printableLines, wrap } from "../views/terminal-text.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  refuseIdle(invocation.options);
  const session = openNamedSession(invocation);
  const { status, previousLeafId, editorText, summaryEntry, decidedBy } = await navigate(session, invocation);
  const report: GotoReport = {
    status: status === "cancelled" ? status : undefined,
    leafId: session.leafId,
    previousLeafId,
    editorText,
    summaryEntryId: summaryEntry?.id,
    decidedBy,
  };
  const asksSummary = invocation.options.summarize === true;
  const { width } = invocation.output;
  invocation.output.result(report, () => gotoView(report, session, { width, asksSummary }));
  return status === "cancelled" ? ExitCode.cancelled : ExitCode.done;
}

async function navigate(
  session: Session,
  invocation: Invocation,
): Promise<Navigation & { decidedBy?: string }> {
  const { args, io } = invocation;
  const targetId = resolveEntryId(session, args[1]!);
  return io.interruptible((signal) =>
    withProgress(io, "Summarising the branch", (onShow) =>
      withSummaryMakers({ invocation, session, signal, onShow }, async (makers) => {
        const options = summaryOptions(invocation, makers);
        const navigation = await navigateTree({ session, targetId, signal, ...options });
        const { status, summaryEntry } = navigation;
        const isTheirs = summaryEntry?.fromHook === true;
        const field = status === "cancelled" ? "cancel" : isTheirs ? "summary" : undefined;
        return { ...navigation, ...makers.decidedBy(field) };
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
    ...(lifecycle && { lifecycle }),
    ...(typeof focus === "string" ? { focus } : {}),
    ...(typeof label === "string" ? { label } : {}),
  };
}

function refuseIdle(options: Invocation["options"]): void {
  if (options.summarize === true) return;
  const flag = options.focus !== undefined ? "--focus" : options.model !== undefined ? "--model" : undefined;
  const message = `${flag} needs --summarize.`;
  if (flag !== undefined) throw wrongUsage(message, `Add --summarize, or remove ${flag}.`);
}

/** The JSON of `bonsai session goto`. */
export interface GotoReport {
  /** Only where it did not happen. */
  status?: "cancelled" | undefined;
  /** The position now; with a summary, the summary. */
  leafId: string | null;
  previousLeafId: string | null;
  /** The text of the user message that was chosen: to be written anew. */
  editorText?: string | undefined;
  summaryEntryId?: string | undefined;
  /** The extension whose summary it is, or that did not let it happen. */
  decidedBy?: string | undefined;
}

/** Where one came from, where one stands, and what is to be written anew. */
function* gotoView(
  report: GotoReport,
  session: Session,
  { width, asksSummary }: { width: number; asksSummary: boolean },
): Generator<Line> {
  const moved = report.leafId !== report.previousLeafId;
  if (moved) yield placeLine("was at", report.previousLeafId, session, width);
  yield placeLine(moved ? "now at" : "still at", report.leafId, session, width);
  const { decidedBy } = report;
  if (report.status === "cancelled")
    yield [`Cancelled${decidedBy === undefined ? "" : ` by ${decidedBy}`}. Nothing changed.`];
  if (report.summaryEntryId !== undefined) {
    yield [
      `Added the summary of the branch as ${report.summaryEntryId}${decidedBy === undefined ? "" : ` (written by ${decidedBy})`}.`,
    ];
  } else if (asksSummary && report.status === undefined)
    yield ["Wrote no summary: this move removes no message from the context."];
  if (report.editorText === undefined) return;
  yield [];
  yield [span("The message you went back to:", "bold")];
  const lines = printableLines(report.editorText).flatMap((text) => wrap(text, width - 4));
  yield* quoted(lines.slice(0, mostLines), "cyan");
  if (lines.length > mostLines)
    yield [
      span(
        `  … and ${counted(lines.length - mostLines, "more line", "more lines")}. \`--json\` prints all of it.`,
        "gray",
      ),
    ];
}

/** The start of a message is enough to know it by. */
const mostLines = 20;

function placeLine(words: string, id: string | null, session: Session, width: number): Line {
  const entry = id === null ? undefined : session.entry(id);
  const label = span(words.padEnd(9), "gray");
  if (entry === undefined) return [label, "the beginning"];
  const kind = kindOf(entry);
  return fitLine(
    [
      label,
      span(entry.id, "bold"),
      "  ",
      span(kind, kindStyle(kind)),
      " ",
      previewSpan(entryParts(entry, callIn(session, entry))),
    ],
    width,
  );
}
