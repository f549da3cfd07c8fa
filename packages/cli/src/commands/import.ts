import { resolve } from "node:path";
import type { Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { outputFile, sessionPlace } from "../call/session-file.ts";
import { type ImportedNotice, type ImportedReport, importSession } from "../call/session-import.ts";
import { type Line, marked, span } from "../views/line.ts";
import { count, counted } from "../views/numbers.ts";
import { oneLine, wrap } from "../views/terminal-text.ts";

export async function run(invocation: Invocation): Promise<undefined> {
  const { args, options, io, output } = invocation;
  const file = outputFile(invocation);
  const { cwd, sessionId } = options;
  const report = await withProgress(io, "Importing", async () =>
    importSession({
      path: resolve(io.cwd, args[0]!),
      place: sessionPlace(invocation),
      file,
      cwd: typeof cwd === "string" ? resolve(io.cwd, cwd) : undefined,
      sessionId: typeof sessionId === "string" ? sessionId : undefined,
    }),
  );
  output.result(report, () => importView(report, output.width));
}

/** What was imported, from where, and what the import had to deal with. */
function importView(report: ImportedReport, width: number): Line[] {
  const entries = counted(report.entryCount, "entry", "entries");
  const skipped = Object.entries(report.skipped).map(([type, times]) => `${type} (${count(times)})`);
  return [
    [span(`Imported ${entries} from ${report.program}`, ["bold", "green"])],
    [span("  session  ", "gray"), report.id],
    [span("  file     ", "gray"), report.file],
    [span("  folder   ", "gray"), report.cwd],
    ...(report.subAgentCount > 0 ? [[`Skipped ${counted(report.subAgentCount, "sub-agent")}.`]] : []),
    ...report.notices.flatMap((notice) => hanging(`${notice.message} (${places(notice)})`, width)),
    ...(skipped.length > 0
      ? hanging(`Skipped records that are not part of a session: ${skipped.join(", ")}.`, width)
      : []),
    [],
    ["Next: ", span(`bonsai session show ${report.file}`, "cyan")],
  ];
}

/** How often, and where the first were. */
function places({ count: times, lines, records }: ImportedNotice): string {
  const first = [...lines.map(String), ...records.map((each) => oneLine(each, 80))].slice(0, PLACES_SHOWN);
  if (first.length === 0) return count(times);
  const name = lines.length === 0 ? "" : first.length === 1 ? "line " : "lines ";
  return `${count(times)}: ${name}${first.join(", ")}${times > first.length ? ", …" : ""}`;
}

const PLACES_SHOWN = 5;

function hanging(text: string, width: number): Line[] {
  return marked(span("! ", "yellow"), wrap(text, width - 2));
}
