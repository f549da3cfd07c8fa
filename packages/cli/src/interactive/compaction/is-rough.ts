/** An estimated part up to here does not show in the figure. */
const UNSEEN_SHARE = 0.01;

/** True for a size that is marked as an estimate: nobody has reported it, or not all of it. */
export function isRough({ tokens, estimatedTokens }: { tokens: number; estimatedTokens: number }): boolean {
  return estimatedTokens > tokens * UNSEEN_SHARE;
}
