/** Why a compaction was asked for. */
export type CompactionReason = "threshold" | "overflow" | "manual";

/** What a compaction did, step by step; each a number of messages. */
export interface CompactionSteps {
  /** Old outputs of tools and of commands that were replaced by a placeholder. */
  masked: number;
  summarised: number;
  /** Messages whose images were left out. */
  withoutMedia: number;
  /** Outputs, or pasted texts, that were cut to head and tail. */
  shortened: number;
}

/** How one call of the controller ended. */
export interface CompactionOutcome {
  status: "compacted" | "masked" | "skipped" | "cancelled" | "failed";
  reason: CompactionReason;
  /** One sentence for people. */
  detail: string;
  tokensBefore: number;
  /** The same as before where nothing changed. */
  tokensAfter: number;
  /** With the status `compacted` or `masked`. */
  steps?: CompactionSteps;
  /** The extension that did not let it happen, or whose summary stands; absent where none had a say. */
  decidedBy?: string;
}

/** "masked 5 old results, shortened 1 message": in the order in which it was done. */
export function stepsText({ masked, summarised, withoutMedia, shortened }: CompactionSteps): string {
  const done = [
    counted("masked", masked, "old result"),
    counted("summarised", summarised, "message"),
    counted("left out the images of", withoutMedia, "message"),
    counted("shortened", shortened, "message"),
  ];
  return done.filter((each) => each !== "").join(", ");
}

function counted(verb: string, count: number, noun: string): string {
  return count === 0 ? "" : `${verb} ${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
