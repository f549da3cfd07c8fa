/** Options of a law with slow cases: few runs in the check, all runs in `pnpm laws`. */
export function fewRuns(numRuns = 5): { numRuns?: number } {
  return process.env.LAW_RUNS ? {} : { numRuns };
}
