import { summarySources } from "@bonsai-agent/compaction";
import type { SummaryLine } from "@bonsai-agent/compaction/host";
import type { Invocation } from "../call/invocation.ts";
import { printedSecrets } from "../call/printed-secrets.ts";
import { openNamedSession, resolveEntryId } from "../call/session-file.ts";
import { type Line, quoted, span } from "../views/line.ts";
import { count } from "../views/numbers.ts";
import {
  namedSummary,
  readableSources,
  type SourceEntry,
  sourceEntry,
  sourceWords,
} from "../views/summary-sources.ts";
import { printableLines, textWidth, wrap } from "../views/terminal-text.ts";

/** The JSON of `bonsai session show --sources`. */
export interface SourcesReport {
  /** The summary. */
  entryId: string;
  type: "compaction" | "branch_summary";
  /** Joined with newlines they are the summary as it is stored. */
  lines: readonly SummaryLine[];
  /** Those that the lines name, in the order in which they name them. */
  entries: readonly SourceEntry[];
}

/** The lines of a summary, each with the entries that it rests on. */
export function showSources(invocation: Invocation): undefined {
  const { options, output, io } = invocation;
  const session = openNamedSession(invocation);
  const named = typeof options.entry === "string" ? resolveEntryId(session, options.entry) : undefined;
  const secrets = printedSecrets(invocation, session);
  const summary = secrets.value(namedSummary(session, named));
  const lines = summarySources(session, summary);
  const entryIds = new Set(lines.flatMap((line) => line.entryIds));
  const entries = [...entryIds].flatMap((id) => sourceEntry(session, id, secrets) ?? []);
  const report: SourcesReport = { entryId: summary.id, type: summary.type, lines, entries };
  output.result(report, () => sourcesView(report, { width: output.width, nowMs: io.now() }));
  return undefined;
}

const indent = "      ";

interface SourcesViewOptions {
  width: number;
  nowMs: number;
}

function* sourcesView(
  { entryId, type, lines, entries }: SourcesReport,
  { width, nowMs }: SourcesViewOptions,
): Generator<Line> {
  const byId = new Map(entries.map((entry) => [entry.entryId, entry]));
  const name = type === "compaction" ? "Summary of compaction" : "Summary of a branch, entry";
  yield [span(`${name} ${entryId}`, "bold")];
  yield [];
  const shown = readableSources(lines);
  for (const [at, line] of shown.entries()) {
    const wrapped = printableLines(line.text).flatMap((each) => wrap(each, width - 4));
    yield* quoted(wrapped, "magenta");
    const next = shown[at + 1];
    // Said once, behind the last of the lines that rest on the same.
    if (next === undefined || !restsOnSame(line, next)) yield* restingOn(line, byId, { width, nowMs });
  }
  yield* legend(shown, width);
}

function restsOnSame(line: SummaryLine, next: SummaryLine): boolean {
  return line.isMatched === next.isMatched && line.entryIds.join() === next.entryIds.join();
}

function* restingOn(
  { entryIds, isMatched }: SummaryLine,
  byId: ReadonlyMap<string, SourceEntry>,
  { width, nowMs }: SourcesViewOptions,
): Generator<Line> {
  const words = entryIds.flatMap((id) => byId.get(id) ?? []).map((entry) => sourceWords(entry, nowMs));
  if (words.length === 0) return;
  const mark = isMatched ? MATCHED : "";
  let shown = words.length;
  const text = () => {
    const others = words.length - shown;
    return [...words.slice(0, shown), ...(others > 0 ? [`${count(others)} more`] : [])].join(", ");
  };
  while (shown > 1 && textWidth(`${indent}${mark}${text()}`) > width) shown -= 1;
  yield [indent, span(mark, "yellow"), span(text(), "gray")];
}

const MATCHED = "≈ ";

function* legend(lines: readonly SummaryLine[], width: number): Generator<Line> {
  const known = lines.filter((line) => line.entryIds.length > 0 && !line.isMatched).length;
  const matched = lines.filter((line) => line.isMatched).length;
  yield [];
  const more =
    matched === 0 ? "" : ` ${count(matched)} more were matched (${MATCHED.trim()}) by their words.`;
  const counts = `${count(known)} of ${count(lines.length)} lines name their source entries.${more}`;
  for (const text of wrap(counts, width)) yield [span(text, "gray")];
}
