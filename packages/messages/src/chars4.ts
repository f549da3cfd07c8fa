import { estimatorOf, type TokenEstimator } from "./estimate.ts";

/** ceil(UTF-16 code units / 4): the field's plain estimate. Too low on code, far too low on CJK text. */
export function chars4(text: string): number {
  return Math.ceil(text.length / 4);
}

export const chars4Estimator: TokenEstimator = estimatorOf("chars4", chars4);

/** The plain estimate rounded down, as one of the presets has it. */
export const chars4FloorEstimator: TokenEstimator = estimatorOf("chars4Floor", (text) =>
  Math.floor(text.length / 4),
);
