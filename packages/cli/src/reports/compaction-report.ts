import type { CompactionResult } from "@bonsai-agent/compaction";

/** What `bonsai compact --json` prints. */
export type CompactionReport = Pick<
  CompactionResult,
  | "status"
  | "reason"
  | "rung"
  | "tokensBefore"
  | "tokensAfter"
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
  | "costUsd"
> & {
  /** The extension whose summary it is, or that did not let it happen. */
  decidedBy?: string;
  /** Why, with the status `cancelled`. */
  detail?: string;
};

export function compactionReport(result: CompactionResult, decidedBy?: string): CompactionReport {
  const { summary, entryId } = result;
  return {
    status: result.status,
    reason: result.reason,
    rung: result.rung,
    tokensBefore: result.tokensBefore,
    tokensAfter: result.tokensAfter,
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
    costUsd: result.costUsd,
    ...(decidedBy === undefined ? {} : { decidedBy }),
    ...(result.status === "cancelled" ? { detail: result.detail } : {}),
  };
}
