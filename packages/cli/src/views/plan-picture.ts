/** What happens to a part of the context. */
export type Fate = "summarised" | "turnPrefix" | "kept";

/** A stretch of the context with one fate. */
export interface PlanPart {
  fate: Fate;
  items: number;
  /** Estimated, after masking. */
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
  /** In the order of the context; a part without items is left out. */
  parts: readonly PlanPart[];
  first: PlanPlace | undefined;
  /** The first kept item; undefined when nothing is kept. */
  cut: PlanPlace | undefined;
  last: PlanPlace | undefined;
  splitsTurn: boolean;
  maskedItems: number;
  maskedTokens: number;
  tokensBefore: number;
  tokensAfter: number;
  /** What stands for the summarised parts. */
  summaryTokens: number;
  readFiles: readonly string[];
  modifiedFiles: readonly string[];
}
