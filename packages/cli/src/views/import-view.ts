import type { ImportNotice } from "@bonsai-agent/transcripts";
import type { ImportedReport } from "../reports/import-report.ts";
import { type Line, span } from "./line.ts";
import { count, counted } from "./numbers.ts";
import { oneLine } from "./printable.ts";
import { wrap } from "./text-width.ts";

/** What was imported, from where, and what the import had to deal with. */
export function importView(report: ImportedReport, width: number): Line[] {
  const skipped = Object.entries(report.skipped).map(([type, times]) => `${type} (${count(times)})`);
  return [
    [
      span(`Imported ${counted(report.entryCount, "entry", "entries")} of ${report.program}`, [
        "bold",
        "green",
      ]),
    ],
    [span("  session  ", "gray"), report.id],
    [span("  file     ", "gray"), report.file],
    [span("  folder   ", "gray"), report.cwd],
    ...(report.subAgentCount > 0 ? [[`${counted(report.subAgentCount, "sub-agent")} left out.`]] : []),
    ...report.notices.flatMap((notice) => hanging(`${notice.message} (${places(notice)})`, width)),
    ...(skipped.length > 0 ? hanging(`Not part of a session: ${skipped.join(", ")}.`, width) : []),
    [],
    ["Go on: ", span(`bonsai show ${report.file}`, "cyan")],
  ];
}

/** How often, and where the first were. */
function places({ count: times, lines, records }: ImportNotice): string {
  const first = [...lines.map(String), ...records.map((each) => oneLine(each, 80))].slice(0, PLACES_SHOWN);
  if (first.length === 0) return count(times);
  const name = lines.length === 0 ? "" : first.length === 1 ? "line " : "lines ";
  return `${count(times)}: ${name}${first.join(", ")}${times > first.length ? ", …" : ""}`;
}

const PLACES_SHOWN = 5;

function hanging(text: string, width: number): Line[] {
  return wrap(text, width - 2).map((line, at) => [span(at === 0 ? "! " : "  ", "yellow"), line]);
}
