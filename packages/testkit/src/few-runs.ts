/** Options of a law whose cases are costly: few runs in the check, as many as of other laws in `pnpm laws`. */
export function fewRuns(numRuns = 5): { numRuns?: number } {
  return process.env.LAW_RUNS ? {} : { numRuns };
}
