/** US dollars, by kind of token. */
export interface UsageCost {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  total: number;
}

/** What one request used. Counts are tokens; `input` excludes what was read from or written to a cache. */
export interface Usage {
  input: number;
  /** With the thinking. */
  output: number;
  cacheRead: number;
  cacheWrite: number;
  /** The part of `cacheWrite` that is kept for an hour, where the provider tells. */
  cacheWrite1h?: number | undefined;
  /** The part of `output` that is thinking, where the provider tells. */
  reasoning?: number | undefined;
  /** Absent in old recordings: then the sum of the four counts. */
  totalTokens?: number | undefined;
  cost: UsageCost;
}

/** A usage of nothing. */
export function emptyUsage(): Usage {
  return {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  };
}

/**
 * The tokens that the context held when this answer was done: input, cached input and output.
 * Total: what a damaged usage lacks counts as nothing.
 */
export function contextTokens(usage: Usage): number {
  return count(usage?.totalTokens) || promptTokens(usage) + count(usage?.output);
}

/** The tokens of the request alone: input, cached or not, without the answer. Total, as `contextTokens`. */
export function promptTokens(usage: Usage): number {
  return count(usage?.input) + count(usage?.cacheRead) + count(usage?.cacheWrite);
}

/** The tokens of the answer alone. Total, as `contextTokens`. */
export function outputTokens(usage: Usage): number {
  return count(usage?.output);
}

/** Counts above it are no count of one request: the largest windows have ten million tokens. */
export const MAX_REQUEST_TOKENS = 1_000_000_000;

/** An estimate errs by a half, not by ten: what a provider counts beyond that was not counted. */
const MAX_ESTIMATES = 10;

/**
 * False for tokens that a request cannot have had, by its estimate.
 * @param unseenTokens what may have stood in it beyond the estimate, such as a server's own instructions
 */
export function isPlausibleCount(tokens: number, estimatedTokens: number, unseenTokens: number): boolean {
  return tokens <= MAX_REQUEST_TOKENS && tokens <= MAX_ESTIMATES * Math.max(estimatedTokens, unseenTokens);
}

/** The sum of two usages, as a new object; a part that only one of them tells is taken as it is. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: count(a.input) + count(b.input),
    output: count(a.output) + count(b.output),
    cacheRead: count(a.cacheRead) + count(b.cacheRead),
    cacheWrite: count(a.cacheWrite) + count(b.cacheWrite),
    ...partSum("cacheWrite1h", a, b),
    ...partSum("reasoning", a, b),
    totalTokens: contextTokens(a) + contextTokens(b),
    cost: addCost(a.cost, b.cost),
  };
}

function partSum(part: "cacheWrite1h" | "reasoning", a: Usage, b: Usage): Partial<Usage> {
  const told = a[part] !== undefined || b[part] !== undefined;
  return told ? { [part]: count(a[part]) + count(b[part]) } : {};
}

function addCost(a: UsageCost | undefined, b: UsageCost | undefined): UsageCost {
  return {
    input: count(a?.input) + count(b?.input),
    output: count(a?.output) + count(b?.output),
    cacheRead: count(a?.cacheRead) + count(b?.cacheRead),
    cacheWrite: count(a?.cacheWrite) + count(b?.cacheWrite),
    total: count(a?.total) + count(b?.total),
  };
}

function count(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}
