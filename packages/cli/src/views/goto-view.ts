import type { Session } from "@bonsai-agent/session";
import { kindOf, previewOf } from "../preview.ts";
import type { GotoReport } from "../reports/goto-report.ts";
import { fitLine, type Line, span } from "./line.ts";
import { counted } from "./numbers.ts";
import { printableLines } from "./printable.ts";
import { kindStyle } from "./role-colour.ts";
import { wrap } from "./text-width.ts";

export interface GotoViewOptions {
  report: GotoReport;
  session: Session;
  width: number;
  /** Whether a summary of the branch that is left was asked for. */
  asksSummary: boolean;
}

/** Where one came from, where one stands, and what is to be written anew. */
export function* gotoView({ report, session, width, asksSummary }: GotoViewOptions): Generator<Line> {
  const moved = report.leafId !== report.previousLeafId;
  if (moved) yield placeLine("was at", report.previousLeafId, session, width);
  yield placeLine(moved ? "now at" : "still at", report.leafId, session, width);
  const { decidedBy } = report;
  if (report.status === "cancelled")
    yield [`Cancelled${decidedBy === undefined ? "" : ` by ${decidedBy}`}: nothing was changed.`];
  if (report.summaryEntryId !== undefined) {
    yield [
      `${report.summaryEntryId} holds the summary of the branch that was left${decidedBy === undefined ? "" : `, made by ${decidedBy}`}.`,
    ];
  } else if (asksSummary && report.status === undefined)
    yield ["No summary was made: nothing that the model sees was left."];
  if (report.editorText === undefined) return;
  yield [];
  yield [span("This message is to be written anew:", "bold")];
  const lines = printableLines(report.editorText).flatMap((text) => wrap(text, width - 4));
  for (const line of lines.slice(0, mostLines)) yield [span("  │ ", "cyan"), line];
  if (lines.length > mostLines)
    yield [
      span(`  … and ${counted(lines.length - mostLines, "line")} more; \`--json\` prints it whole.`, "gray"),
    ];
}

/** The start of a message tells which it is. */
const mostLines = 20;

function placeLine(words: string, id: string | null, session: Session, width: number): Line {
  const entry = id === null ? undefined : session.entry(id);
  const label = span(words.padEnd(9), "gray");
  if (entry === undefined) return [label, "the beginning"];
  const kind = kindOf(entry);
  return fitLine(
    [label, span(entry.id, "bold"), "  ", span(kind, kindStyle(kind)), " ", previewOf(entry)],
    width,
  );
}
