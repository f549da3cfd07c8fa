import { resolve } from "node:path";
import { bonsaiHome } from "@bonsai-agent/session";
import { wrongUsage } from "../call/failure.ts";
import type { Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { hasPiSettings, importFromPi, type PiImport, piFolder } from "../call/pi-import.ts";
import { outputFile, sessionPlace } from "../call/session-file.ts";
import { type ImportedNotice, type ImportedReport, importSession } from "../call/session-import.ts";
import { type Line, marked, span } from "../views/line.ts";
import { count, counted } from "../views/numbers.ts";
import { oneLine, wrap } from "../views/terminal-text.ts";

export async function importTranscript(invocation: Invocation): Promise<undefined> {
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

export async function importSettings({ args, io, output }: Invocation): Promise<undefined> {
  if (args[0] !== "pi")
    throw wrongUsage(
      `Cannot import settings of ${oneLine(args[0] ?? "", 40)}.`,
      "Run `bonsai import-settings pi`.",
    );
  const folder = piFolder(io.env);
  if (!hasPiSettings(folder))
    throw wrongUsage(
      `${folder} has no settings of pi.`,
      "If pi uses another folder, set PI_CODING_AGENT_DIR to it.",
    );
  const report = await importFromPi(bonsaiHome(io.env), io.env);
  output.result(report, () => importLines(report));
}

function importLines({ folder, taken, left }: PiImport): Line[] {
  const lines: Line[] = [
    [
      taken.length === 0 ? "Took nothing from " : "Took from ",
      span(folder, "bold"),
      taken.length === 0 ? "." : ":",
    ],
  ];
  lines.push(...taken.map((name): Line => [`  ${name}`]));
  if (left.length > 0)
    lines.push(["Left there:"], ...left.map(({ name, why }): Line => [`  ${name}. ${oneLine(why, 300)}`]));
  return lines;
}
