import fc from "fast-check";

/**
 * How many random cases each law tries. The check tries a few, the same ones each time, so that it is quick and never fails
 * by chance; `pnpm laws` tries many, other ones each time.
 */
const { LAW_RUNS } = process.env;
fc.configureGlobal(LAW_RUNS ? { numRuns: Number(LAW_RUNS) } : { numRuns: 10, seed: 1 });
