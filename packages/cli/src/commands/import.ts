import { resolve } from "node:path";
import { type ImportResult, importTranscript, writeSessionFile } from "@bonsai-agent/transcripts";
import type { Invocation } from "../invocation.ts";
import { outputFile } from "../output-file.ts";
import { withProgress } from "../progress.ts";
import type { ImportedReport } from "../reports/import-report.ts";
import { importedSessionFile } from "../transcript-session.ts";
import { importView } from "../views/import-view.ts";

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
  const { header, entries } = result;
  const file = named ?? importedSessionFile(result, io);
  writeSessionFile({ file, header, entries });
  const report = importedReport(result, file);
  output.result(report, () => importView(report, output.width));
}

function importedReport(
  { header, entries, leafId, subAgents, report }: ImportResult,
  file: string,
): ImportedReport {
  const { format, program, counts, skipped, models, usage, notices } = report;
  return {
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
    subAgentCount: subAgents.length,
    notices,
  };
}
