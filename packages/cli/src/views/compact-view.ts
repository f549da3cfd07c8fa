import { type CompactionResult, lossLines } from "@bonsai-agent/compaction";
import type { SummaryLoss } from "@bonsai-agent/compaction/host";
import {
  costPhrase,
  type KnownCost,
  type Model,
  type ModelPrices,
  readableSummary,
} from "@bonsai-agent/messages";
import { type Line, paragraph, quoted, span } from "./line.ts";
import { counted, sizeChange, tokensText } from "./numbers.ts";
import { type PlanPicture, planView } from "./plan-view.ts";
import { printable, printableLines, wrap } from "./terminal-text.ts";

interface CompactViewOptions {
  result: CompactionResult;
  /** The extension whose summary it is, or that did not let it happen. */
  decidedBy?: string | undefined;
  picture: PlanPicture;
  /** The file that was, or would be, written to. */
  file: string | undefined;
  /** The planned requests to a model, and their price. */
  cost?: PlannedCost | undefined;
  /** The file is another than the one that was named. Default: false. */
  isCopy?: boolean | undefined;
  width: number;
}

/** The statuses that have a picture. */
const headings: Partial<Record<CompactionResult["status"], string>> = {
  planned: "Plan",
  compacted: "Compacted",
  masked: "Masked",
};

/** Shows the outcome or the plan of a compaction. */
export function* compactView(options: CompactViewOptions): Generator<Line> {
  const { result, picture, width } = options;
  if (!Object.hasOwn(headings, result.status)) {
    yield* paragraph(result.detail, width);
    if (options.decidedBy !== undefined) yield [span("Decided by ", "gray"), span(options.decidedBy, "cyan")];
    if (result.status === "already-compacted") yield* paragraph(further, width, "gray");
    if (options.isCopy && options.file !== undefined) yield writtenTo(options.file);
    return;
  }
  yield headline(options);
  yield [];
  yield* planView({ picture, width });
  yield [];
  const { isSummaryExpected } = picture;
  yield* lossView(result, { width, isPlan: isSummaryExpected });
  if (options.cost !== undefined) yield* paragraph(plannedText(options.cost), width);
  if (result.status === "planned") yield [span("Dry run: nothing was saved.", "gray")];
  else yield* written(options);
}

interface LossViewOptions {
  width: number;
  /** Blanks before each line. Default 0. */
  indent?: number;
  /** True for a summary that is not written yet. Default: false. */
  isPlan?: boolean;
}

/** Shows what a summary carries and what it left out, with an empty line behind it. Empty if nothing is known. */
export function* lossView(known: SummaryLoss, { width, indent, isPlan }: LossViewOptions): Generator<Line> {
  const said = lossLines(known, { isPlan });
  for (const { text, isLoss } of said)
    yield* paragraph(printable(text), width, isLoss ? "yellow" : undefined, indent);
  if (said.length > 0) yield [];
}

const further = "To compact further, use a smaller `--keep`, such as `--keep 8k`.";

function writtenTo(file: string): Line {
  return ["Saved to ", span(file, "cyan")];
}

/** The planned requests to a model, and their price. */
export function plannedText({ model, requests, costUsd, failure }: PlannedCost): string {
  if (requests.length === 0) return `${model} is not available. ${failure ?? ""}`.trimEnd();
  const inputTokens = requests.reduce((sum, each) => sum + each.inputTokens, 0);
  const cost = costOfRequests(costUsd === null ? null : costUsd.most);
  const price = `${isPriced(cost) ? "at most " : ""}${costPhrase(cost)}`;
  const reads = `${tokensText(inputTokens, true)} of input`;
  return `${counted(requests.length, "request")} to ${model}: ${reads}; ${price}.`;
}

function headline({ result }: CompactViewOptions): Line {
  const anew = result.entry?.replacesCompactionId === undefined ? "" : " again";
  return [span(`${headings[result.status] ?? ""}${anew}`, ["bold", "green"]), `  ${sizeChange(result)}`];
}

/** The requests of a compaction and their price: `2 requests, $0.03`. */
export function requestWords({ requests, costUsd }: Pick<CompactionResult, "requests" | "costUsd">): string {
  return `${counted(requests, "request")}, ${costPhrase(costOfRequests(costUsd))}`;
}

function isPriced({ certainty, isFree }: KnownCost): boolean {
  return certainty !== "unknown" && isFree !== true;
}

/** @param costUsd null where it is unknown */
function costOfRequests(costUsd: number | null): KnownCost {
  if (costUsd === null) return { usd: 0, certainty: "unknown" };
  return { usd: costUsd, certainty: "known", isFree: costUsd === 0 };
}

function* written({ result, decidedBy, file, width }: CompactViewOptions): Generator<Line> {
  if (decidedBy !== undefined) {
    yield ["Summary by ", span(decidedBy, "cyan")];
    // A summary that somebody else made is shown: nobody knows what it is like.
    const lines = readableSummary(result.summary ?? "")
      .split("\n")
      .flatMap((text) => wrap(printable(text), width - 4));
    yield* quoted(lines, "cyan");
    yield [];
  }
  if (file !== undefined) yield writtenTo(file);
  if (result.requests > 0) yield [requestWords(result)];
  const { caveat } = result;
  if (caveat !== undefined) yield* paragraph(caveat, width, "yellow");
  const undo =
    result.status === "masked"
      ? "The file still has the full tool results. Only the model no longer sees them."
      : "The file still has everything. Undo with `bonsai session undo FILE`.";
  yield* paragraph(undo, width, "gray");
}

const EXCERPT_LINES = 24;

/** The beginning of a summary, where `--json` has all of it. */
export function* summaryExcerpt(summary: string, width: number): Generator<Line> {
  const lines = printableLines(readableSummary(summary)).flatMap((line) => wrap(line, width - 4));
  yield* quoted(lines.slice(0, EXCERPT_LINES), "magenta");
  const left = lines.length - EXCERPT_LINES;
  if (left > 0) yield [span(`  │ … ${counted(left, "more line")} (--json shows all)`, "gray")];
}

/** The reported fields of a result, in this order. */
const reportedFields = [
  "status",
  "reason",
  "rung",
  "tokensBefore",
  "estimatedTokensBefore",
  "tokensAfter",
  "sizes",
  "steps",
  "firstKeptEntryId",
  "splitTurn",
  "summarizedEntryIds",
  "turnPrefixEntryIds",
  "keptEntryIds",
  "readFiles",
  "modifiedFiles",
  "summary",
  "entryId",
  "requests",
  "carried",
  "loss",
] as const satisfies readonly (keyof CompactionResult)[];

type ReportedResult = Pick<CompactionResult, (typeof reportedFields)[number]>;

/** The JSON of `bonsai compact`. */
export interface CompactionReport extends ReportedResult {
  /** Null where requests were made whose cost is not known. */
  costUsd: number | null;
  /** The extension whose summary it is, or that did not let it happen. */
  decidedBy?: string | undefined;
  /** In a dry run with `--model`. */
  planned?: PlannedCost | undefined;
  /** Why, with the status `cancelled`; else what is to be known beside it: why the digest's summary stands, for one. */
  detail?: string | undefined;
}

export function compactionReport(
  result: CompactionResult,
  { decidedBy, cost }: { decidedBy?: string | undefined; cost?: PlannedCost | undefined },
): CompactionReport {
  const reported = Object.fromEntries(reportedFields.map((field) => [field, result[field]]));
  return {
    ...(reported as unknown as ReportedResult),
    costUsd: result.costUsd,
    decidedBy,
    planned: cost,
    detail: result.status === "cancelled" ? result.detail : result.caveat,
  };
}

/** The requests that a compaction would make, and their price. */
export interface PlannedCost {
  /** `provider/id`. */
  model: string;
  /** Estimated. None where the model cannot be asked. */
  requests: { kind: string; inputTokens: number; maxOutputTokens: number }[];
  /**
   * US dollars: without a word of answer, and with answers of full length; what a provider has cached makes it less. Null
   * where the prices are unknown.
   */
  costUsd: { least: number; most: number } | null;
  /** Why it cannot be asked. */
  failure: string | undefined;
}

/** Undefined where no model would be asked. */
export function plannedCost(result: CompactionResult, model: Model): PlannedCost | undefined {
  const { plannedRequests, failures } = result;
  if (plannedRequests === undefined) return undefined;
  const requests = plannedRequests.map((request) => ({ ...request }));
  const failure = requests.length === 0 ? failures.at(-1)?.message : undefined;
  return {
    model: `${model.provider}/${model.id}`,
    requests,
    costUsd: costOf(requests, model.usdPerMillionTokens),
    failure,
  };
}

function costOf(requests: PlannedCost["requests"], prices: ModelPrices | undefined): PlannedCost["costUsd"] {
  if (prices === undefined || !Number.isFinite(prices.input + prices.output)) return null;
  const sum = (field: "inputTokens" | "maxOutputTokens") =>
    requests.reduce((all, each) => all + each[field], 0);
  const least = (sum("inputTokens") * prices.input) / 1_000_000;
  return { least, most: least + (sum("maxOutputTokens") * prices.output) / 1_000_000 };
}
