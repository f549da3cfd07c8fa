import { type LabRun, labColumns, labHtml, playPolicies, runNotes, searchSettings } from "@bonsai-agent/lab";
import { costPhrase } from "@bonsai-agent/messages";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { outputFile, writeOutput } from "../call/session-file.ts";
import { callSettings } from "../call/settings.ts";
import { type Line, paragraph, span, table } from "../views/line.ts";
import { bytes, counted } from "../views/numbers.ts";
import { daysOf, policiesOf } from "./lab-input.ts";

/** Replays recorded sessions under several policies, and shows the cost and the loss of each. */
export async function lab(invocation: Invocation): Promise<ExitCode> {
  const { io, output, options } = invocation;
  if (options.tune === true) return tune(invocation);
  const file = outputFile(invocation);
  const days = await daysOf(invocation);
  const policies = policiesOf(invocation);
  const run = await io.interruptible(async (signal) => {
    try {
      return await withProgress(io, `Replaying ${counted(days.length, "session")}`, () =>
        playPolicies(days, policies, signal),
      );
    } catch (error) {
      if (!signal.aborted) throw error;
      return undefined;
    }
  });
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

function labView(run: LabRun, width: number): Line[] {
  const { sessions, recorded, policies } = run;
  return [
    ...paragraph(
      `${counted(sessions, "session")}, ${counted(recorded.requests, "request")}, ${counted(recorded.compactions, "compaction")} and ${costPhrase(recorded)} as recorded. Replayed:`,
      width,
    ),
    [],
    ...policyTable(policies, width),
    [],
    ...[...runNotes(run), summariesText(run)].flatMap((text) => paragraph(text, width, "gray")),
  ];
}

/** Narrow terminals leave out these columns, the first one first. `--json` and the page have all columns. */
const DROPPED_COLUMNS = ["Summaries", "Rereads", "Masked", "Words", "Highest", "Overall"];
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

function summariesText({ policies }: LabRun): string {
  const requests = policies.reduce((sum, { summaries }) => sum + summaries.requests, 0);
  if (requests === 0) return "";
  return `The costs include ${counted(requests, "request for a summary", "requests for summaries")}.`;
}

type Tuned = Awaited<ReturnType<typeof searchSettings>>;

/** Searches settings that suit the recorded sessions better than the current ones. */
async function tune(invocation: Invocation): Promise<ExitCode> {
  const { io, output } = invocation;
  const days = await daysOf(invocation);
  const baseline = { name: "yours", settings: callSettings(invocation), input: {} };
  const tuned = await withProgress(io, `Tuning on ${counted(days.length, "session")}`, () =>
    searchSettings({ days, baseline }),
  );
  output.result(tuned, () => tunedView(tuned, output.width));
  return ExitCode.done;
}

function tunedView(tuned: Tuned, width: number): Line[] {
  const { isBetter, settings, savings, needed, presets, trained, tested, name } = tuned;
  const found = { name: isBetter ? "found" : "best found", savings, needed: needed.tuned };
  const yours = { name: "yours", savings: savings.map(() => 0), needed: needed.baseline };
  const said = isBetter
    ? `Found better settings. Trained on ${counted(trained, "session")}, tested on ${tested} others. Paste into your settings:`
    : `Found no better settings than yours. Trained on ${counted(trained, "session")}, tested on ${tested} others. The best found: ${name}`;
  const heading = ["", "saved", "from … to", "needed facts"].map((cell): Line => [cell]);
  const columns = heading.map((_, at) => (at === 0 ? { flexible: true } : ({ align: "right" } as const)));
  return [
    ...table([heading, ...[yours, ...presets, found].map(testedCells)], { columns, width }),
    [],
    ...paragraph(said, width),
    ...(isBetter ? [[], ...settingsLines(settings)] : []),
  ];
}

function testedCells({ name, savings, needed }: Tuned["presets"][number]): Line[] {
  const percent = (share: number) => `${Math.round(share * 100)}%`;
  const mean = savings.reduce((sum, saving) => sum + saving, 0) / savings.length;
  const spread = `${percent(Math.min(...savings))} … ${percent(Math.max(...savings))}`;
  return [[name], [percent(mean)], [spread], [needed.toFixed(2)]];
}

function settingsLines(settings: Tuned["settings"]): Line[] {
  const text = JSON.stringify({ compaction: settings }, null, 2);
  return text.split("\n").map((line): Line => [span(line, "cyan")]);
}
