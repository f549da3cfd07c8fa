import { amount, type FieldRule, type Fields, isFields, mendFields, optional } from "./field-rule.ts";

const COUNTS: readonly FieldRule[] = [
  ...["input", "output", "cacheRead", "cacheWrite"].map(amount),
  ...["cacheWrite1h", "reasoning", "totalTokens"].map((field) => optional(amount(field))),
];
const COSTS: readonly FieldRule[] = ["input", "output", "cacheRead", "cacheWrite", "total"].map(amount);

/** Gives what a usage lacks the value 0, in place; an absent one stays absent. */
export function mendUsage(record: Fields, note: { odd: string[] | undefined; prefix: string }): void {
  const { usage } = record;
  if (usage === undefined) return;
  const prefix = `${note.prefix}usage`;
  if (!isFields(usage)) {
    delete record.usage;
    note.odd?.push(prefix);
    return;
  }
  mendFields(usage, COUNTS, { odd: note.odd, prefix: `${prefix}.` });
  if (!isFields(usage.cost)) {
    if (usage.cost !== undefined) note.odd?.push(`${prefix}.cost`);
    usage.cost = {};
    mendFields(usage.cost as Fields, COSTS, { odd: undefined });
  } else mendFields(usage.cost, COSTS, { odd: note.odd, prefix: `${prefix}.cost.` });
}
