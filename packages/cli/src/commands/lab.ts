import {
  headline,
  type LabRun,
  labColumns,
  labHtml,
  playPolicies,
  runNotes,
  searchSettings,
  tableRows,
} from "@bonsai-agent/lab";
import { costPhrase } from "@bonsai-agent/messages";
import { knownCatalogue } from "../call/catalogue.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import type { CliIo } from "../call/io.ts";
import { withProgress } from "../call/output.ts";
import { outputFile, writeOutput } from "../call/session-file.ts";
import { callSettings } from "../call/settings.ts";
import { type Line, paragraph, span, table } from "../views/line.ts";
import { bytes, counted, duration, usd } from "../views/numbers.ts";
import { daysOf, policiesOf } from "./lab-input.ts";

/** Replays recorded sessions under several policies, and shows the cost and the loss of each. */
export async function lab(invocation: Invocation): Promise<ExitCode> {
  const { io, output, options } = invocation;
  if (options.tune === true) return tune(invocation);
  const file = outputFile(invocation);
  const catalogue = await knownCatalogue(invocation);
  const days = daysOf(invocation, catalogue);
  const policies = await policiesOf(invocation, { catalogue, days });
  const run = await untilAborted(io, (signal) =>
    withProgress(io, `Replaying ${counted(days.length, "session")}`, (_hide, onProgress) =>
      playPolicies({ days, policies, onProgress, signal }),
    ),
  );
  if (run === undefined) return ExitCode.cancelled;
  const html = file === undefined ? "" : labHtml(run);
  if (file !== undefined) writeOutput(file, html);
  output.result({ ...run, file }, () => [
    ...labView(run, output.width),
    ...(file === undefined
      ? []
      : [[], ["Wrote ", span(file, "cyan"), `, ${bytes(Buffer.byteLength(html))}`]]),
  ]);
  return ExitCode.done;
}

/** Undefined after Ctrl-C. */
function untilAborted<T>(io: CliIo, work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  return io.interruptible(async (signal) => {
    try {
      return await work(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      return undefined;
    }
  });
}

function labView(run: LabRun, width: number): Line[] {
  const { sessions, recorded, policies } = run;
  return [
    ...paragraph(headline(run), width),
    [],
    ...paragraph(
      `${counted(sessions, "session")}, ${counted(recorded.requests, "request")}, ${counted(recorded.compactions, "compaction")} and ${costPhrase(recorded)} as recorded. Replayed:`,
      width,
      "gray",
    ),
    [],
    ...policyTable(tableRows(policies), width),
    ...spaced(runNotes(run).flatMap((text) => paragraph(text, width, "gray"))),
  ];
}

/** Narrow terminals leave out these columns, the first one first. `--json` and the page have all columns. */
const DROPPED_COLUMNS = [
  "Words",
  "After",
  "Masked",
  "Highest",
  "Requests",
  "Summaries",
  "Recalls",
  "Compactions",
  "Losses",
  "Rereads",
];
const GAP_COLUMNS = 2;

function policyTable(policies: LabRun["policies"], width: number): Iterable<Line> {
  const policyColumn = { name: "Policy", cell: ({ policy }: LabRun["policies"][number]) => policy };
  let shown = [policyColumn, ...labColumns].map(({ name, cell }) => {
    const cells = [name.toLowerCase(), ...policies.map(cell)];
    return { name, cells, size: Math.max(...cells.map(({ length }) => length)) + GAP_COLUMNS };
  });
  const size = () => shown.reduce((sum, column) => sum + column.size, -GAP_COLUMNS);
  for (const dropped of DROPPED_COLUMNS)
    if (size() > width) shown = shown.filter(({ name }) => name !== dropped);
  const rows = ["", ...policies].map((_, row) => shown.map(({ cells }): Line => [cells[row]!]));
  const right = shown.slice(1).map(() => ({ align: "right" as const }));
  return table(rows, { columns: [{ flexible: true }, ...right], width });
}

function spaced(lines: readonly Line[]): Line[] {
  return lines.length === 0 ? [] : [[], ...lines];
}

type Tuned = Awaited<ReturnType<typeof searchSettings>>;

/** Searches settings that suit the recorded sessions better than the current ones. */
async function tune(invocation: Invocation): Promise<ExitCode> {
  const { io, output } = invocation;
  const days = daysOf(invocation, await knownCatalogue(invocation));
  const baseline = { name: "yours", settings: callSettings(invocation), input: {} };
  const tuned = await untilAborted(io, (signal) =>
    withProgress(io, `Tuning on ${counted(days.length, "session")}`, (_hide, onProgress) =>
      searchSettings({ days, baseline, onProgress, signal }),
    ),
  );
  if (tuned === undefined) return ExitCode.cancelled;
  output.result(tuned, () => tunedView(tuned, output.width));
  return ExitCode.done;
}

function tunedView(tuned: Tuned, width: number): Line[] {
  const { isBetter, settings, before, after, presets, trained, tested } = tuned;
  const days = `Trained on ${counted(trained, "session")}, tested on ${tested} others.`;
  const said = isBetter
    ? `Found better settings: ${usd(after.usd)} instead of ${usd(before.usd)}. ${days} Paste into your settings:`
    : `Found no better settings than yours. ${days} The best found: ${after.name}`;
  const found = { ...after, name: isBetter ? "found" : "best found" };
  const heading = ["", "total", "saved", "from … to", "waited", "needed"].map((cell): Line => [cell]);
  const columns = heading.map((_, at) => (at === 0 ? { flexible: true } : ({ align: "right" } as const)));
  const rows = Map.groupBy([before, ...presets, found], ({ name: _, ...result }) => JSON.stringify(result));
  const joined = [...rows.values()].map((equal) => ({
    ...equal[0]!,
    name: equal.map(({ name }) => name).join(", "),
  }));
  return [
    ...paragraph(said, width),
    ...(isBetter ? [[], ...settingsLines(settings)] : []),
    [],
    ...table([heading, ...joined.map(testedCells)], { columns, width }),
  ];
}

function testedCells({ name, usd: total, savings, needed, waitedSeconds }: Tuned["after"]): Line[] {
  const saved = (share: number) => `${Math.round(share * 100)}%`;
  const mean = savings.reduce((sum, saving) => sum + saving, 0) / savings.length;
  const spread = `${saved(Math.min(...savings))} … ${saved(Math.max(...savings))}`;
  return [
    [name],
    [usd(total)],
    [saved(mean)],
    [spread],
    [duration(waitedSeconds * 1_000)],
    [needed.toFixed(2)],
  ];
}

function settingsLines(settings: Tuned["settings"]): Line[] {
  const text = JSON.stringify({ compaction: settings }, null, 2);
  return text.split("\n").map((line): Line => [span(line, "cyan")]);
}
