import { type CompactionResult, lossLines } from "@bonsai-agent/compaction";
import type { SummaryLoss } from "@bonsai-agent/compaction/host";
import {
  costPhrase,
  type KnownCost,
  type Model,
  type ModelPrices,
  readableSummary,
} from "@bonsai-agent/messages";
import type { ProjectionItem } from "@bonsai-agent/session";
import { excerpt, type Line, paragraph, span } from "./line.ts";
import { counted, sizeChange, tokensText } from "./numbers.ts";
import { planPicture, planView } from "./plan-view.ts";
import { printable } from "./terminal-text.ts";

export interface CompactViewOptions {
  result: CompactionResult;
  /** The messages before the compaction. */
  before: readonly ProjectionItem[];
  /** The extension that wrote the summary or cancelled. */
  decidedBy?: string | undefined;
  /** The written file. Default: none. */
  file?: string | undefined;
  /** The model of a plan, for its price. */
  model?: Model | undefined;
  /** True if the file is not the named session. Default: false. */
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
  const { result, before, model, width } = options;
  if (!Object.hasOwn(headings, result.status)) {
    yield* paragraph(result.detail, width);
    if (options.decidedBy !== undefined) yield [span("Decided by ", "gray"), span(options.decidedBy, "cyan")];
    if (result.status === "already-compacted") yield* paragraph(further, width, "gray");
    if (options.isCopy && options.file !== undefined) yield writtenTo(options.file);
    return;
  }
  const anew = result.entry?.replacesCompactionId === undefined ? "" : " again";
  yield [span(`${headings[result.status]}${anew}`, ["bold", "green"]), `  ${sizeChange(result)}`];
  yield [];
  const picture = planPicture(result, before);
  yield* planView(picture, width);
  yield [];
  yield* lossView(result, { width, isPlan: picture.isSummaryExpected });
  const cost = model && plannedCost(result, model);
  if (cost !== undefined) yield* paragraph(plannedText(cost), width);
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

/** The carried and omitted facts of a summary, then an empty line. Empty if nothing is known. */
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

export function plannedText({ model, requests, costUsd, failure }: PlannedCost): string {
  if (requests.length === 0) return `${model} is not available. ${failure ?? ""}`.trimEnd();
  const inputTokens = requests.reduce((sum, each) => sum + each.inputTokens, 0);
  const cost = costOfRequests(costUsd === null ? null : costUsd.most);
  const price = `${isPriced(cost) ? "at most " : ""}${costPhrase(cost)}`;
  const reads = `${tokensText(inputTokens, true)} of input`;
  const asked = requests.some(({ kind }) => kind === "provider")
    ? `1 request for a compaction by the provider of ${model}`
    : `${counted(requests.length, "request")} to ${model}`;
  return `${asked}: ${reads}; ${price}.`;
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
    yield* excerpt(readableSummary(result.summary ?? ""), { width, style: "cyan" });
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
export function summaryExcerpt(summary: string, width: number): Line[] {
  const more = " (--json shows all)";
  return excerpt(readableSummary(summary), { width, maxLines: EXCERPT_LINES, style: "magenta", more });
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
  "provider",
] as const satisfies readonly (keyof CompactionResult)[];

type ReportedResult = Pick<CompactionResult, (typeof reportedFields)[number]>;

/** The JSON of `bonsai compact`. */
export interface CompactionReport extends ReportedResult {
  /** Null if unknown. */
  costUsd: number | null;
  /** The extension that wrote the summary or cancelled. */
  decidedBy?: string | undefined;
  /** In a dry run with `--model`. */
  planned?: PlannedCost | undefined;
  /** The reason for `cancelled`, else a caveat. */
  detail?: string | undefined;
}

export function compactionReport(
  result: CompactionResult,
  { decidedBy, model }: { decidedBy?: string | undefined; model?: Model | undefined },
): CompactionReport {
  const reported = Object.fromEntries(reportedFields.map((field) => [field, result[field]]));
  return {
    ...(reported as unknown as ReportedResult),
    costUsd: result.costUsd,
    decidedBy,
    planned: model && plannedCost(result, model),
    detail: result.status === "cancelled" ? result.detail : result.caveat,
  };
}

/** The requests that a compaction would make, and their price. */
export interface PlannedCost {
  /** `provider/id`. */
  model: string;
  /** Estimated. None if the model is unavailable. */
  requests: { kind: string; inputTokens: number; maxOutputTokens: number }[];
  /** US dollars, with empty answers and with answers of full length. Null if the prices are unknown. */
  costUsd: { least: number; most: number } | null;
  /** The reason if the model is unavailable. */
  failure: string | undefined;
}

/** Undefined if no model would be asked. */
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
