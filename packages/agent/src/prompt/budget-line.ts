import type { CompactionController } from "@bonsai-agent/compaction";
import { count } from "@bonsai-agent/messages/numbers";

/** The size of the context, and the size above which it is compacted. */
export type ContextBudget = NonNullable<ReturnType<CompactionController["budget"]>>;

/** Percentages of the way to the threshold at which the model gets a line. */
export const BUDGET_STEPS = [50, 75, 90];

export function percentOf({ tokens, limitTokens }: ContextBudget): number {
  return Math.floor((100 * tokens) / Math.max(1, limitTokens));
}

/** The highest step that the context has reached; 0 for none. */
export function budgetStep(budget: ContextBudget): number {
  const percent = percentOf(budget);
  return BUDGET_STEPS.findLast((step) => percent >= step) ?? 0;
}

/** At most 60 tokens. */
export function budgetLine(budget: ContextBudget, canAsk: boolean): string {
  const { tokens, limitTokens } = budget;
  const advice = canAsk ? " After a finished step, you can ask for it with the tool context." : "";
  return `[Context: ${percentOf(budget)}% used, ${count(tokens)} of ${count(limitTokens)} tokens. At 100%, a summary replaces the older messages.${advice}]`;
}
