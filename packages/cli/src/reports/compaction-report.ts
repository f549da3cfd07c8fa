import type { CompactionResult } from "@bonsai-agent/compaction";
import { type KnownCost, knownUsd } from "@bonsai-agent/messages";
import type { PlannedCost } from "../planned-cost.ts";

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
export function compactionCost({ requests, costUsd }: CompactionResult): KnownCost {
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
