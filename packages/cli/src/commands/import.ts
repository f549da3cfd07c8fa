import { resolve } from "node:path";
import { bonsaiHome } from "@bonsai-agent/session";
import type { ArchiveImport } from "../call/archive/archive-import.ts";
import { withDatabase } from "../call/database.ts";
import { wrongUsage } from "../call/failure.ts";
import type { Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { hasPiSettings, importFromPi, type PiImport, piFolder } from "../call/pi-import.ts";
import { isArchive, outputFile, sessionPlace } from "../call/session-file.ts";
import { type ImportedNotice, type ImportedReport, importSession } from "../call/session-import.ts";
import { agentCallSettings } from "../call/settings.ts";
import { type Line, marked, paragraph, span } from "../views/line.ts";
import { bytes, count, counted } from "../views/numbers.ts";
import { oneLine, wrap } from "../views/terminal-text.ts";

export async function importTranscript(invocation: Invocation): Promise<undefined> {
  const { args, options, io, output } = invocation;
  const file = outputFile(invocation);
  const { cwd, sessionId, database } = options;
  const path = resolve(io.cwd, args[0]!);
  if (isArchive(path)) return importArchived(invocation, path, file);
  if (database !== undefined)
    throw wrongUsage(
      "--database works only for a .bonsai file.",
      "Import the transcript into a file, then run `bonsai session push FILE`.",
    );
  const report = await withProgress(io, "Importing", async () =>
    importSession({
      path,
      place: sessionPlace(invocation),
      file,
      cwd: typeof cwd === "string" ? resolve(io.cwd, cwd) : undefined,
      sessionId: typeof sessionId === "string" ? sessionId : undefined,
    }),
  );
  output.result(report, () => importView(report, output.width));
}

async function importArchived(
  invocation: Invocation,
  path: string,
  file: string | undefined,
): Promise<undefined> {
  const { io, options, output } = invocation;
  const { importArchive } = await import("../call/archive/archive-import.ts");
  const importTo = (push?: (file: string) => Promise<{ bytes: number; isBranch: boolean }>) =>
    withProgress(io, "Importing", () =>
      importArchive({
        ...{ path, file, push, place: sessionPlace(invocation), settings: agentCallSettings(invocation) },
        cwd: typeof options.cwd === "string" ? resolve(io.cwd, options.cwd) : io.cwd,
      }),
    );
  const report =
    options.database === undefined
      ? await importTo()
      : await withDatabase(invocation, ({ sessions }) => importTo((from) => sessions.push(from)));
  output.result(report, () => archiveView(report, output.width));
}

function archiveView(report: ArchiveImport, width: number): Line[] {
  const { id, file, outcome, bytes: added, parentSession, taskCount, redacted, checkpoints } = report;
  const title = {
    imported: `Imported a session of ${bytes(added)}`,
    continued: `Added ${bytes(added)} to a session that was here`,
    branched: `Added ${bytes(added)} as a branch to a session that was here`,
    present: "This session is already here, with all entries",
  }[outcome];
  const settings = report.settings.map(
    ({ name, value, here }) => `${name} ${value}${here === undefined ? "" : ` (here ${here})`}`,
  );
  return [
    [span(title, ["bold", "green"])],
    [span("  session  ", "gray"), id],
    ...(file === undefined ? [] : [[span("  file     ", "gray"), file]]),
    ...(parentSession === undefined ? [] : [[span("  fork of  ", "gray"), parentSession]]),
    ...(taskCount > 0 ? [[`With ${counted(taskCount, "sub-agent")}.`]] : []),
    ...(redacted ? [["Secrets were replaced at the export."]] : []),
    ...(checkpoints === undefined ? [] : checkpointLines(checkpoints, width)),
    ...paragraph(
      `Exported with ${oneLine(settings.join(", "), MAX_SETTINGS_CHARS)}. No setting changed here.`,
      width,
    ),
    [],
    // An odd id comes from an odd file: nobody should paste it into a shell.
    ["Next: ", span(`bonsai -r ${/^[\w-]+$/.test(id) ? id : "FILE"}`, "cyan")],
  ];
}

const MAX_SETTINGS_CHARS = 2_000;

function checkpointLines(
  { count: all, restored, reason }: NonNullable<ArchiveImport["checkpoints"]>,
  width: number,
): Line[] {
  const words = `${count(restored)} of ${counted(all, "git checkpoint")} in the repository of this folder`;
  return reason === undefined ? paragraph(`${words}.`, width) : hanging(`${words}: ${reason}.`, width);
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
