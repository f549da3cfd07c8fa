import {
  amount,
  type FieldRule,
  type Fields,
  isAmount,
  isFields,
  mendFields,
  optional,
} from "./field-rule.ts";

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
  if (isComplete(usage)) return;
  mendFields(usage, COUNTS, { odd: note.odd, prefix: `${prefix}.` });
  if (!isFields(usage.cost)) {
    if (usage.cost !== undefined) note.odd?.push(`${prefix}.cost`);
    usage.cost = {};
    mendFields(usage.cost as Fields, COSTS, { odd: undefined });
  } else mendFields(usage.cost, COSTS, { odd: note.odd, prefix: `${prefix}.cost.` });
}

/** True for a usage as providers' answers have it. Spelt out, for an opening meets one with every answer. */
function isComplete(usage: Fields): boolean {
  const cost = usage.cost as Fields | undefined | null;
  return (
    isAmount(usage.input) &&
    isAmount(usage.output) &&
    isAmount(usage.cacheRead) &&
    isAmount(usage.cacheWrite) &&
    usage.cacheWrite1h === undefined &&
    usage.reasoning === undefined &&
    (usage.totalTokens === undefined || isAmount(usage.totalTokens)) &&
    typeof cost === "object" &&
    cost !== null &&
    isAmount(cost.input) &&
    isAmount(cost.output) &&
    isAmount(cost.cacheRead) &&
    isAmount(cost.cacheWrite) &&
    isAmount(cost.total)
  );
}
