/** What happens to a part of the context. */
export type Fate = "fixed" | "summarised" | "turnPrefix" | "masked" | "kept";

/** A stretch of the context with one fate. */
export interface PlanPart {
  fate: Fate;
  items: number;
  /** Of the tokens before. */
  tokens: number;
}

/** An item that the picture names. */
export interface PlanPlace {
  entryId: string;
  kind: string;
  preview: string;
}

/** A compaction as a picture: one for a plan, and one for what was done. */
export interface PlanPicture {
  /**
   * In the order of the context; a part without tokens and items is left out.
   * Invariant: they add up to `tokensBefore`; what is fixed and kept, with the summary, to `tokensAfter`.
   */
  parts: readonly PlanPart[];
  first: PlanPlace | undefined;
  /** The first kept item; undefined when nothing is kept. */
  cut: PlanPlace | undefined;
  last: PlanPlace | undefined;
  splitsTurn: boolean;
  maskedItems: number;
  tokensBefore: number;
  tokensAfter: number;
  /** What stands for the summarised parts. */
  summaryTokens: number;
  /** True where the summary is not written yet. */
  isSummaryExpected: boolean;
  readFiles: readonly string[];
  modifiedFiles: readonly string[];
}
