import type { BonsaiError } from "@bonsai-agent/messages";
import type { CompactionEntry, ContextEditEntry } from "@bonsai-agent/session";
import type { CompactionSizes } from "./context-size.ts";
import type { PlannedRequest } from "./expected-summary.ts";
import type { CompactionOutcome, CompactionReason, CompactionSteps } from "./outcome.ts";
import type { RungFailure, RungName } from "./rung.ts";

export type CompactionStatus =
  | "planned"
  | "compacted"
  | "masked"
  | "nothing-to-compact"
  | "already-compacted"
  | "cancelled"
  | "failed";

/** What a compaction did, or with `dryRun` would do. Ids are of entries of the context, oldest first. */
export interface CompactionResult {
  /** `masked`: masks alone were enough, and no summary was made. */
  status: CompactionStatus;
  reason: CompactionReason;
  /** The step of the ladder that got furthest; null where none was needed or none did. */
  rung: RungName | null;
  /** From the provider's last report where there is one, else estimated. */
  tokensBefore: number;
  /** `tokensBefore`, without what goes and with the summary; in a plan, the summary's size is an estimate. */
  tokensAfter: number;
  /** What both are of. */
  sizes: CompactionSizes;
  /** Null when nothing is kept word for word. */
  firstKeptEntryId: string | null;
  splitTurn: boolean;
  /** Summarised as history. The summary of an earlier compaction, which this one updates, is in none of the lists. */
  summarizedEntryIds: string[];
  /** The early part of a split turn, summarised for itself. */
  turnPrefixEntryIds: string[];
  keptEntryIds: string[];
  /** Tool results whose content is masked in the kept part. */
  maskedEntryIds: string[];
  readFiles: string[];
  modifiedFiles: string[];
  summary?: string;
  /** Id of the compaction entry. */
  entryId?: string;
  entry?: CompactionEntry;
  /** The edits that were written. */
  edits: readonly ContextEditEntry[];
  /** What was done, or with the status `planned` would be; absent where nothing was. */
  steps?: CompactionSteps;
  /** Requests to the summariser. */
  requests: number;
  /** In a plan that was told who would summarise: what would be asked; none where `failures` says why. */
  plannedRequests?: readonly PlannedRequest[];
  costUsd: number;
  /** One sentence for people. */
  detail: string;
  /** The extension that did not let it happen, or whose summary stands; absent where none had a say. */
  decidedBy?: string;
  /** Rungs that were tried in vain. */
  failures: readonly RungFailure[];
  /** With the status `failed`. */
  error?: BonsaiError;
}

/** The result as the controller reports it. */
export function outcomeOf(result: CompactionResult): CompactionOutcome {
  const { reason, detail, tokensBefore, tokensAfter, decidedBy } = result;
  const status = outcomeStatus(result.status);
  const steps = status === "compacted" || status === "masked" ? result.steps : undefined;
  return {
    ...{ status, reason, detail, tokensBefore, tokensAfter },
    ...(steps && { steps }),
    ...(decidedBy && { decidedBy }),
  };
}

function outcomeStatus(status: CompactionStatus): CompactionOutcome["status"] {
  switch (status) {
    case "planned":
    case "nothing-to-compact":
    case "already-compacted":
      return "skipped";
    default:
      return status;
  }
}
