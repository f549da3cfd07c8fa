/** Why a compaction was asked for. */
export type CompactionReason = "threshold" | "overflow" | "manual";

/** How one call of the controller ended. */
export interface CompactionOutcome {
  status: "compacted" | "masked" | "skipped" | "cancelled" | "failed";
  reason: CompactionReason;
  /** One sentence for people. */
  detail: string;
  tokensBefore: number;
  /** The same as before where nothing changed. */
  tokensAfter: number;
  /** The extension that did not let it happen, or whose summary stands; absent where none had a say. */
  decidedBy?: string;
}
