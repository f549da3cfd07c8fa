import type { CompactionResult } from "@bonsai-agent/compaction";
import {
  costText,
  type KnownCost,
  knownUsd,
  type Model,
  type ModelPrices,
  usdText,
} from "@bonsai-agent/messages";
import { type Line, span } from "./line.ts";
import { count, counted } from "./numbers.ts";
import { type PlanPicture, planView } from "./plan-view.ts";
import { printable, wrap } from "./terminal-text.ts";

interface CompactViewOptions {
  result: CompactionResult;
  /** The extension whose summary it is, or that did not let it happen. */
  decidedBy?: string | undefined;
  picture: PlanPicture;
  /** The file that was, or would be, written to. */
  file: string | undefined;
  /** What a model would be asked, and what that would cost. */
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

/** What a compaction did or would do. */
export function* compactView(options: CompactViewOptions): Generator<Line> {
  const { result, picture, width } = options;
  if (!Object.hasOwn(headings, result.status)) {
    yield* wrap(result.detail, width).map((line) => [line]);
    if (options.decidedBy !== undefined) yield [span("Decided by ", "gray"), span(options.decidedBy, "cyan")];
    if (result.status === "already-compacted") yield* further(width);
    if (options.isCopy && options.file !== undefined) yield writtenTo(options.file);
    return;
  }
  yield headline(options);
  yield [];
  yield* planView({ picture, width });
  yield [];
  yield* plannedLines(options);
  if (result.status === "planned") yield [span("Nothing is written in a dry run.", "gray")];
  else yield* written(options);
}

function writtenTo(file: string): Line {
  return ["Written to ", span(file, "cyan")];
}

/** A summary that somebody else made is shown: nobody knows what it is like. */
function quoted(text: string, width: number): Line[] {
  return wrap(printable(text), width - 4).map((line) => [span("  │ ", "cyan"), line]);
}

function further(width: number): Line[] {
  const hint = "A smaller `--keep`, like `--keep 8k`, compacts further.";
  return wrap(hint, width).map((line) => [span(line, "gray")]);
}

function plannedLines({ cost, width }: CompactViewOptions): Line[] {
  if (cost === undefined) return [];
  return wrap(plannedText(cost), width).map((line) => [line]);
}

function plannedText({ model, requests, costUsd, failure }: PlannedCost): string {
  if (requests.length === 0) return `${model} cannot be asked. ${failure ?? ""}`.trimEnd();
  const inputTokens = requests.reduce((sum, each) => sum + each.inputTokens, 0);
  const price =
    costUsd === null
      ? "the price is unknown"
      : costUsd.most === 0
        ? "free of charge"
        : `${usdText(costUsd.least)} to ${usdText(costUsd.most)}`;
  const reads = `about ${counted(inputTokens, "token")} to read`;
  return `${counted(requests.length, "request")} to ${model}: ${reads}; ${price}.`;
}

function headline({ result, picture }: CompactViewOptions): Line {
  const about = picture.isSummaryExpected ? "about " : "";
  const sizes = `  ${count(result.tokensBefore)} → ${about}${counted(result.tokensAfter, "token")}`;
  return [span(headings[result.status] ?? "", ["bold", "green"]), sizes];
}

function requestWords(result: CompactionResult): string {
  const cost = compactionCost(result);
  const words = cost.certainty === "unknown" ? ", cost unknown" : ` for ${costText(cost)}`;
  return `${counted(result.requests, "request")}${words}`;
}

function* written({ result, decidedBy, file, width }: CompactViewOptions): Generator<Line> {
  if (decidedBy !== undefined) {
    yield ["The summary of ", span(decidedBy, "cyan")];
    yield* (result.summary ?? "").split("\n").flatMap((text) => quoted(text, width));
    yield [];
  }
  if (file !== undefined) yield writtenTo(file);
  if (result.requests > 0) yield [requestWords(result)];
  const caveat = caveatOf(result);
  if (caveat !== undefined) yield* wrap(caveat, width).map((text) => [span(text, "yellow")]);
  const undo =
    result.status === "masked"
      ? "Old tool results are masked in the model's view only: the file has them whole."
      : "Nothing is lost from the file: `bonsai undo FILE` takes the compaction back.";
  for (const text of wrap(undo, width)) yield [span(text, "gray")];
}

/** What the detail says behind its first sentence: that the context is too large still, why it was the digest's. */
function caveatOf({ detail }: CompactionResult): string | undefined {
  const at = detail.search(/(?<=\.) /);
  return at < 0 ? undefined : detail.slice(at + 1);
}

/** What `bonsai compact --json` prints. */
export type CompactionReport = Pick<
  CompactionResult,
  | "status"
  | "reason"
  | "rung"
  | "tokensBefore"
  | "tokensAfter"
  | "sizes"
  | "firstKeptEntryId"
  | "splitTurn"
  | "summarizedEntryIds"
  | "turnPrefixEntryIds"
  | "keptEntryIds"
  | "readFiles"
  | "modifiedFiles"
  | "summary"
  | "entryId"
  | "requests"
> & {
  /** Null where requests were made whose cost is not known. */
  costUsd: number | null;
  /** The extension whose summary it is, or that did not let it happen. */
  decidedBy?: string;
  /** Why, with the status `cancelled`. */
  detail?: string;
  /** In a dry run with `--model`. */
  planned?: PlannedCost;
};

/** A compaction that asked a model and tells no cost has an unknown one. */
function compactionCost({ requests, costUsd }: CompactionResult): KnownCost {
  return { usd: costUsd, certainty: requests > 0 && costUsd === 0 ? "unknown" : "known" };
}

export function compactionReport(
  result: CompactionResult,
  { decidedBy, cost }: { decidedBy?: string; cost?: PlannedCost },
): CompactionReport {
  const { summary, entryId } = result;
  return {
    status: result.status,
    reason: result.reason,
    rung: result.rung,
    tokensBefore: result.tokensBefore,
    tokensAfter: result.tokensAfter,
    sizes: result.sizes,
    firstKeptEntryId: result.firstKeptEntryId,
    splitTurn: result.splitTurn,
    summarizedEntryIds: result.summarizedEntryIds,
    turnPrefixEntryIds: result.turnPrefixEntryIds,
    keptEntryIds: result.keptEntryIds,
    readFiles: result.readFiles,
    modifiedFiles: result.modifiedFiles,
    ...(summary === undefined ? {} : { summary }),
    ...(entryId === undefined ? {} : { entryId }),
    requests: result.requests,
    costUsd: knownUsd(compactionCost(result)),
    ...(decidedBy === undefined ? {} : { decidedBy }),
    ...(cost === undefined ? {} : { planned: cost }),
    ...(result.status === "cancelled" ? { detail: result.detail } : {}),
  };
}

/** What a compaction would ask of a model, and what that would cost. */
export interface PlannedCost {
  /** `provider/id`. */
  model: string;
  /** Estimated. None where the model cannot be asked. */
  requests: { kind: string; inputTokens: number; maxOutputTokens: number }[];
  /** US dollars: without a word of answer, and with answers of full length. Null where the prices are unknown. */
  costUsd: { least: number; most: number } | null;
  /** Why it cannot be asked. */
  failure?: string;
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
    ...(failure === undefined ? {} : { failure }),
  };
}

function costOf(requests: PlannedCost["requests"], prices: ModelPrices | undefined): PlannedCost["costUsd"] {
  if (prices === undefined || !Number.isFinite(prices.input + prices.output)) return null;
  const sum = (field: "inputTokens" | "maxOutputTokens") =>
    requests.reduce((all, each) => all + each[field], 0);
  const least = (sum("inputTokens") * prices.input) / 1_000_000;
  return { least, most: least + (sum("maxOutputTokens") * prices.output) / 1_000_000 };
}
