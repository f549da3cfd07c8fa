import type { Budgets } from "./budget.ts";
import type { CompactionSettings } from "./settings-schema.ts";

type Rule = CompactionSettings["threshold"]["rule"];

/** The most tokens that the context may hold without compaction, by rule. */
const limits: Record<Rule, (budgets: Budgets & { windowTokens: number }, percent: number) => number> = {
  reserve: ({ windowTokens, reserveTokens }) => windowTokens - reserveTokens,
  percent: ({ windowTokens }, percent) => Math.floor((windowTokens * percent) / 100),
  outputLimit: ({ windowTokens, outputTokens }) => windowTokens - outputTokens,
  reservePlusKeep: ({ windowTokens, reserveTokens, keepTokens }) => windowTokens - reserveTokens - keepTokens,
  // The rule says "at or above", so the largest context that passes is one token less.
  effectiveWindow: ({ windowTokens, outputTokens, reserveTokens }) =>
    windowTokens - outputTokens - reserveTokens - 1,
};

/** The most tokens that the context may hold: one more calls for compaction. Undefined for an unknown window. */
export function thresholdTokens(settings: CompactionSettings, budgets: Budgets): number | undefined {
  const { windowTokens } = budgets;
  if (windowTokens === undefined) return undefined;
  const { rule, percent } = settings.threshold;
  return Math.max(0, limits[rule]({ ...budgets, windowTokens }, percent));
}
