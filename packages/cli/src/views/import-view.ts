import type { ImportedReport } from "../reports/import-report.ts";
import { type Line, span } from "./line.ts";
import { count, counted } from "./numbers.ts";
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
    ...report.notices.flatMap(({ message, count: times }) => hanging(`${message} (${count(times)})`, width)),
    ...(skipped.length > 0 ? hanging(`Not part of a session: ${skipped.join(", ")}.`, width) : []),
    [],
    ["Go on: ", span(`bonsai show ${report.file}`, "cyan")],
  ];
}

function hanging(text: string, width: number): Line[] {
  return wrap(text, width - 2).map((line, at) => [span(at === 0 ? "! " : "  ", "yellow"), line]);
}
