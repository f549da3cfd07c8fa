import {
  compactionCount,
  type LabRun,
  labHtml,
  playPolicies,
  runNotes,
  searchSettings,
} from "@bonsai-agent/lab";
import { costPhrase } from "@bonsai-agent/messages";
import { wrongUsage } from "../call/failure.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { outputFile, writeOutput } from "../call/session-file.ts";
import { callSettings } from "../call/settings.ts";
import { type Line, paragraph, span, table } from "../views/line.ts";
import { bytes, counted, duration, shortTokens, usd } from "../views/numbers.ts";
import { daysOf, policiesOf } from "./lab-input.ts";
import { withSummaries } from "./lab-summaries.ts";

const MAX_CHART_COLUMNS = 32;
const MIN_CHART_COLUMNS = 8;
const GAP_COLUMNS = 2;

/** Replays recorded sessions under several policies, and shows the cost and the loss of each. */
export async function lab(invocation: Invocation): Promise<ExitCode> {
  const { io, output, options } = invocation;
  if (options.tune === true) {
    await tune(invocation);
    return ExitCode.done;
  }
  if (options.loss !== undefined) throw wrongUsage("--loss needs --tune.", "Add --tune, or remove --loss.");
  const file = outputFile(invocation);
  const days = await daysOf(invocation);
  const policies = policiesOf(invocation);
  const played = await withSummaries(invocation, { days, policies }, (written, signal) =>
    withProgress(io, `Replaying ${counted(days.length, "session")}`, () =>
      playPolicies(written, policies, signal),
    ),
  );
  if (played === undefined) return ExitCode.cancelled;
  const html = file === undefined ? "" : labHtml(played);
  let failure: unknown;
  try {
    if (file !== undefined) writeOutput(file, html);
  } catch (error) {
    // The results may have been paid for: print them before the error.
    failure = error;
  }
  const page = failure === undefined ? file : undefined;
  output.result({ ...played, ...(page !== undefined && { file: page }) }, () => [
    ...labView(played, output.width),
    ...(page === undefined
      ? []
      : [[""], ["Wrote ", span(page, "cyan"), `, ${bytes(Buffer.byteLength(html))}`]]),
  ]);
  if (failure !== undefined) throw failure;
  return ExitCode.done;
}

interface PolicyColumn {
  name: string;
  value: (result: LabRun["policies"][number]) => string;
  /** Narrow terminals leave out the highest numbers first. `--json` and the page have all columns. */
  dropped?: number;
}

const share = (value: number | null) => (value === null ? "" : value.toFixed(2));

const columns: readonly PolicyColumn[] = [
  { name: "policy", value: ({ policy }) => policy },
  { name: "cost", value: (each) => usd(each.usd) },
  { name: "compactions", value: (each) => String(compactionCount(each)) },
  { name: "masked", value: ({ masks }) => String(masks), dropped: 4 },
  { name: "highest", value: ({ highestTokens }) => shortTokens(highestTokens), dropped: 2 },
  { name: "waited", value: ({ waitedSeconds }) => duration(waitedSeconds * 1_000) },
  { name: "needed", value: ({ neededAfter }) => share(neededAfter) },
  { name: "overall", value: ({ neededAlong }) => share(neededAlong), dropped: 1 },
  { name: "words", value: ({ wordsKept }) => share(wordsKept), dropped: 3 },
  { name: "rereads", value: ({ readAgain }) => String(readAgain), dropped: 5 },
];

function labView(run: LabRun, width: number): Line[] {
  const { sessions, recorded, policies } = run;
  return [
    ...paragraph(
      `${counted(sessions, "session")}, ${counted(recorded.requests, "request")}, ${counted(recorded.compactions, "compaction")} and ${costPhrase(recorded)} as recorded. Replayed:`,
      width,
    ),
    [""],
    ...policyTable(policies, width),
    [""],
    ...runNotes(run).flatMap((text) => paragraph(text, width, "gray")),
    ...paragraph(
      `needed: share of the facts used later that the model still sees after a compaction. overall: the same share over all requests. words: share of your words that the model still sees after a compaction. rereads: files read again because their content had left the context. ${summariesText(run)}`.trimEnd(),
      width,
      "gray",
    ),
  ];
}

function policyTable(policies: LabRun["policies"], width: number): Iterable<Line> {
  const all = columns.map(({ name, value, dropped = 0 }) => {
    const cells = [name, ...policies.map(value)];
    return { cells, dropped, size: Math.max(...cells.map(({ length }) => length)) + GAP_COLUMNS };
  });
  const sizeOf = (shown: typeof all) => shown.reduce((sum, { size }) => sum + size, 0);
  let shown = all;
  for (let drop = 5; drop > 0 && sizeOf(shown) - GAP_COLUMNS > width; drop -= 1)
    shown = shown.filter(({ dropped }) => dropped !== drop);
  const rows = ["", ...policies].map((_, row) => shown.map(({ cells }): Line => [cells[row]!]));
  // The chart takes the remaining columns.
  const steps = Math.min(MAX_CHART_COLUMNS, width - sizeOf(shown));
  const hasChart = steps >= MIN_CHART_COLUMNS;
  if (hasChart) {
    const most = policies.reduce((highest, { highestTokens }) => Math.max(highest, highestTokens), 1);
    const title = steps < CHART_TITLE.length ? "context" : CHART_TITLE;
    const charts = [title, ...policies.map(({ context }) => sparkline(context, { most, steps }))];
    for (const [at, row] of rows.entries()) row.push([charts[at]!]);
  }
  const right = shown.slice(1).map(() => ({ align: "right" as const }));
  return table(rows, { columns: [{ flexible: true }, ...right, ...(hasChart ? [{}] : [])], width });
}

const CHART_TITLE = "context over time";

function summariesText({ policies }: LabRun): string {
  const [all, taken] = [
    policies.reduce((sum, { summaries }) => sum + summaries.requests, 0),
    policies.reduce((sum, { summaries }) => sum + summaries.recorded, 0),
  ];
  if (all === 0) return "";
  const requests = counted(all, "request for a summary", "requests for summaries");
  const recorded = taken === 0 ? "" : ` The recording answered ${taken} of them.`;
  return `The costs include ${requests}.${recorded}`;
}

const HEIGHTS = "▁▂▃▄▅▆▇█";

/** The highest value of each stretch, as a share of the highest of all. */
function sparkline(values: readonly number[], options: { most: number; steps: number }): string {
  const steps = Math.max(0, Math.min(options.steps, values.length));
  return Array.from({ length: steps }, (_, step) => {
    const stretch = values.slice(
      Math.floor((step * values.length) / steps),
      Math.floor(((step + 1) * values.length) / steps),
    );
    const height = stretch.reduce((high, value) => Math.max(high, value), 0) / options.most;
    return HEIGHTS[Math.min(HEIGHTS.length - 1, Math.floor(height * HEIGHTS.length))];
  }).join("");
}

type Tuned = Awaited<ReturnType<typeof searchSettings>>;

/** Searches settings that suit the recorded sessions better than the current ones. */
export async function tune(invocation: Invocation): Promise<undefined> {
  const { io, output, options } = invocation;
  const days = await daysOf(invocation);
  const baseline = { name: "yours", settings: callSettings(invocation), input: {} };
  const loss = lossOf(options.loss);
  const tuned = await withProgress(io, `Tuning on ${counted(days.length, "session")}`, () =>
    searchSettings({ days, baseline, ...(loss !== undefined && { loss }) }),
  );
  output.result(tuned, () => tunedView(tuned, output.width));
}

function lossOf(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const loss = Number(value);
  if (loss >= 0 && loss <= 1) return loss;
  throw wrongUsage(
    `--loss must be a number from 0 to 1, not ${String(value)}.`,
    "Write it like --loss 0.05.",
  );
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
    [""],
    ...paragraph(said, width),
    ...(isBetter ? [[""], ...settingsLines(settings)] : []),
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
