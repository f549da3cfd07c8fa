import { resolve } from "node:path";
import type { Invocation } from "@bonsai-agent/app/invocation";
import { type Line, marked, span } from "@bonsai-agent/app/line";
import { count, counted } from "@bonsai-agent/app/numbers";
import { withProgress } from "@bonsai-agent/app/output";
import { outputFile } from "@bonsai-agent/app/session-file";
import { oneLine, wrap } from "@bonsai-agent/app/terminal-text";
import type { Usage } from "@bonsai-agent/messages";
import { writeSessionFile } from "@bonsai-agent/session/host";
import { type ImportNotice, importTranscript } from "@bonsai-agent/transcripts";
import { importedSessionFile } from "../transcript-session.ts";

export async function run(invocation: Invocation): Promise<undefined> {
  const { args, options, io, output } = invocation;
  const named = outputFile(invocation);
  const result = await withProgress(io, "Importing", async () =>
    importTranscript({
      path: resolve(io.cwd, args[0]!),
      ...(typeof options.cwd === "string" ? { cwd: resolve(io.cwd, options.cwd) } : {}),
      ...(typeof options.sessionId === "string" ? { sessionId: options.sessionId } : {}),
    }),
  );
  const { header, entries, leafId } = result;
  const file = named ?? importedSessionFile(result, io);
  writeSessionFile({ file, header, entries });
  const { format, program, counts, skipped, models, usage, notices } = result.report;
  const report: ImportedReport = {
    id: header.id,
    file,
    format,
    program,
    cwd: header.cwd,
    leafId,
    entryCount: entries.length,
    counts,
    skipped,
    models,
    usage,
    subAgentCount: result.subAgents.length,
    notices,
  };
  output.result(report, () => importView(report, output.width));
}

/** What `bonsai import --json` prints. */
export interface ImportedReport {
  id: string;
  /** The session that was written. */
  file: string;
  format: string;
  program: string;
  cwd: string;
  leafId: string;
  entryCount: number;
  counts: Record<string, number>;
  skipped: Record<string, number>;
  models: string[];
  usage: Usage;
  /** Sub-agents' sessions inside the same transcript, which are not written. */
  subAgentCount: number;
  notices: ImportNotice[];
}

/** What was imported, from where, and what the import had to deal with. */
function importView(report: ImportedReport, width: number): Line[] {
  const entries = counted(report.entryCount, "entry", "entries");
  const skipped = Object.entries(report.skipped).map(([type, times]) => `${type} (${count(times)})`);
  return [
    [span(`Imported ${entries} of ${report.program}`, ["bold", "green"])],
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
  return marked(span("! ", "yellow"), wrap(text, width - 2));
}
