/** Runs of a law in the check if its cases are slow, or only many cover every outcome. `pnpm laws` tries more. */
export function fewRuns(numRuns = 5): { numRuns?: number } {
  return process.env.LAW_RUNS ? {} : { numRuns };
}
