import { ExitCode, type Invocation } from "@bonsai-agent/app/invocation";
import { type Line, paragraph, span, table } from "@bonsai-agent/app/line";
import { bytes, counted, shortTokens } from "@bonsai-agent/app/numbers";
import { withProgress } from "@bonsai-agent/app/output";
import { outputFile, writeOutput } from "@bonsai-agent/app/session-file";
import {
  assumedText,
  compactionCount,
  type LabRun,
  labHtml,
  missedText,
  playPolicies,
  tooLargeText,
} from "@bonsai-agent/lab";
import { wrongUsage } from "../failure.ts";
import { daysOf, named } from "./lab-days.ts";
import { policiesOf } from "./lab-policies.ts";
import { withSummaries } from "./lab-summaries.ts";

const CHART_COLUMNS = 32;

/** Plays recorded sessions again under several policies, and shows what each would have cost and lost. */
export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, output, args, options } = invocation;
  if (args[0] === "tune") {
    await (await import("./lab-tune.ts")).run(invocation);
    return ExitCode.done;
  }
  if (options.loss !== undefined)
    throw wrongUsage("--loss is for `lab tune`.", "Put the word tune before the sessions, or leave it out.");
  const file = outputFile(invocation);
  const days = await daysOf(invocation, named(args));
  const policies = policiesOf(invocation);
  const played = await withSummaries(invocation, { days, policies }, (written, signal) =>
    withProgress(io, `Playing ${counted(days.length, "session")} again`, () =>
      playPolicies(written, policies, signal),
    ),
  );
  if (played === undefined) return ExitCode.cancelled;
  if (file !== undefined) writeOutput(file, labHtml(played));
  output.result({ ...played, ...(file !== undefined && { file }) }, () => [
    ...labView(played, output.width),
    ...(file === undefined ? [] : writtenLines(file, labHtml(played))),
  ]);
  return ExitCode.done;
}

function writtenLines(file: string, html: string): Line[] {
  return [[""], ["Written to ", span(file, "cyan"), `, ${bytes(Buffer.byteLength(html))}`]];
}

const columns = [
  ...["policy", "cost", "compactions", "masked", "highest", "waited", "needed", "along", "words", "again"],
  "context over time",
];

function labView(run: LabRun, width: number): Line[] {
  const { sessions, recorded, policies } = run;
  const share = (value: number | null) => (value === null ? "" : value.toFixed(2));
  const most = policies.reduce((highest, { highestTokens }) => Math.max(highest, highestTokens), 1);
  const cells = policies.map((result) => [
    result.policy,
    `$${result.usd.toFixed(2)}`,
    String(compactionCount(result)),
    String(result.masks),
    shortTokens(result.highestTokens),
    `${result.waitedSeconds} s`,
    share(result.neededAfter),
    share(result.neededAlong),
    share(result.wordsKept),
    String(result.readAgain),
    sparkline(result.context, most),
  ]);
  const right = columns.slice(1, -1).map(() => ({ align: "right" as const }));
  return [
    ...paragraph(
      `${counted(sessions, "session")}, ${counted(recorded.requests, "request")}, as recorded ${counted(recorded.compactions, "compaction")} and $${recorded.usd.toFixed(2)}; played again:`,
      width,
    ),
    [""],
    ...table(
      [columns, ...cells].map((row) => row.map((cell): Line => [cell])),
      { columns: [{ flexible: true }, ...right, {}], width },
    ),
    [""],
    ...[assumedText(run), tooLargeText(run), missedText(run)].flatMap((text) =>
      text === undefined ? [] : paragraph(text, width, "gray"),
    ),
    ...paragraph(
      `needed: of the terms that the recorded future used and the past had, the share in view after a compaction, and along all requests; words: the share of what you said that stands in view after a compaction; again: files read again although their result had left the view. ${summariesText(run)}`,
      width,
      "gray",
    ),
  ];
}

function summariesText({ policies }: LabRun): string {
  const [all, taken] = [
    policies.reduce((sum, { summaries }) => sum + summaries.requests, 0),
    policies.reduce((sum, { summaries }) => sum + summaries.recorded, 0),
  ];
  const cost = `what summaries cost is in the cost`;
  return taken === 0
    ? `${counted(all, "request for a summary", "requests for summaries")}; ${cost}.`
    : `${counted(all, "request for a summary", "requests for summaries")}, ${taken} of them as recorded; ${cost}.`;
}

const HEIGHTS = "▁▂▃▄▅▆▇█";

/** The highest of each stretch, as a share of the highest of all. */
function sparkline(values: readonly number[], most: number): string {
  const steps = Math.min(CHART_COLUMNS, values.length);
  return Array.from({ length: steps }, (_, step) => {
    const stretch = values.slice(
      Math.floor((step * values.length) / steps),
      Math.floor(((step + 1) * values.length) / steps),
    );
    const height = Math.max(...stretch) / most;
    return HEIGHTS[Math.min(HEIGHTS.length - 1, Math.floor(height * HEIGHTS.length))];
  }).join("");
}
