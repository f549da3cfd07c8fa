import { compactionCount, type LabRun, labHtml, playPolicies, runNotes } from "@bonsai-agent/lab";
import { costPhrase } from "@bonsai-agent/messages";
import { wrongUsage } from "../call/failure.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { withProgress } from "../call/output.ts";
import { outputFile, writeOutput } from "../call/session-file.ts";
import { type Line, paragraph, span, table } from "../views/line.ts";
import { bytes, counted, duration, shortTokens, usd } from "../views/numbers.ts";
import { daysOf, named } from "./lab-days.ts";
import { policiesOf } from "./lab-policies.ts";
import { withSummaries } from "./lab-summaries.ts";

const MOST_CHART_COLUMNS = 32;
const LEAST_CHART_COLUMNS = 8;
const GAP_COLUMNS = 2;

/** Plays recorded sessions again under several policies, and shows what each would have cost and lost. */
export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, output, args, options } = invocation;
  if (options.tune === true) {
    await (await import("./lab-tune.ts")).run(invocation);
    return ExitCode.done;
  }
  if (options.loss !== undefined) throw wrongUsage("--loss needs --tune.", "Add --tune, or remove --loss.");
  const file = outputFile(invocation);
  const days = await daysOf(invocation, named(args));
  const policies = policiesOf(invocation);
  const played = await withSummaries(invocation, { days, policies }, (written, signal) =>
    withProgress(io, `Replaying ${counted(days.length, "session")}`, () =>
      playPolicies(written, policies, signal),
    ),
  );
  if (played === undefined) return ExitCode.cancelled;
  const written = file === undefined ? undefined : writtenPage(file, labHtml(played));
  const page = written?.error === undefined ? written : undefined;
  // What was played, and perhaps paid for, is told before what could not be written.
  output.result({ ...played, ...(page && { file }) }, () => [
    ...labView(played, output.width),
    ...(page === undefined ? [] : [[""], ["Wrote ", span(file!, "cyan"), `, ${bytes(page.sizeBytes)}`]]),
  ]);
  if (written?.error !== undefined) throw written.error;
  return ExitCode.done;
}

/** Writes the page. @returns the error where it cannot be written */
function writtenPage(file: string, html: string): { sizeBytes: number; error?: unknown } {
  const sizeBytes = Buffer.byteLength(html);
  try {
    writeOutput(file, html);
    return { sizeBytes };
  } catch (error) {
    return { sizeBytes, error };
  }
}

const columns = [
  ...[
    "policy",
    "cost",
    "compactions",
    "masked",
    "highest",
    "waited",
    "needed",
    "overall",
    "words",
    "rereads",
  ],
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
  const all = [columns, ...policies.map(policyCells)];
  const sizes = columns.map((_, at) => Math.max(...all.map((row) => row[at]!.length)) + GAP_COLUMNS);
  const shown = fitting(sizes, width);
  const rows = all.map((row) => shown.map((at) => row[at]!));
  // The drawing has what is left.
  const steps = Math.min(MOST_CHART_COLUMNS, width - sumOf(shown.map((at) => sizes[at]!)));
  if (steps >= LEAST_CHART_COLUMNS) {
    const most = policies.reduce((highest, { highestTokens }) => Math.max(highest, highestTokens), 1);
    const title = steps < CHART_TITLE.length ? "context" : CHART_TITLE;
    [title, ...policies.map(({ context }) => sparkline(context, { most, steps }))].forEach((text, at) => {
      rows[at]!.push(text);
    });
  }
  const right = shown.slice(1).map(() => ({ align: "right" as const }));
  return table(
    rows.map((row) => row.map((cell): Line => [cell])),
    { columns: [{ flexible: true }, ...right, ...(rows[0]!.length > shown.length ? [{}] : [])], width },
  );
}

const CHART_TITLE = "context over time";
/** What goes first where a terminal is narrow; all of it stands in `--json` and on the page. */
const LEAST_NEEDED = ["rereads", "masked", "words", "highest", "overall"];

/** Columns by their place, so many as fit. */
function fitting(sizes: readonly number[], width: number): number[] {
  let shown = sizes.map((_, at) => at);
  for (const name of LEAST_NEEDED) {
    if (sumOf(shown.map((at) => sizes[at]!)) - GAP_COLUMNS <= width) break;
    shown = shown.filter((at) => columns[at] !== name);
  }
  return shown;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function policyCells(result: LabRun["policies"][number]): string[] {
  const share = (value: number | null) => (value === null ? "" : value.toFixed(2));
  return [
    result.policy,
    usd(result.usd),
    String(compactionCount(result)),
    String(result.masks),
    shortTokens(result.highestTokens),
    duration(result.waitedSeconds * 1_000),
    share(result.neededAfter),
    share(result.neededAlong),
    share(result.wordsKept),
    String(result.readAgain),
  ];
}

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

/** The highest of each stretch, as a share of the highest of all. */
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
