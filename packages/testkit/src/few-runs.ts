/** Runs of a law if its cases are slow or only many runs cover every outcome. `pnpm laws` runs more. */
export function fewRuns(numRuns = 5): { numRuns?: number } {
  return process.env.LAW_RUNS ? {} : { numRuns };
}
