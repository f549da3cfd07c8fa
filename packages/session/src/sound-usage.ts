import { MAX_REQUEST_TOKENS } from "@bonsai-agent/messages";
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
  ...["input", "output", "cacheRead", "cacheWrite"].map(tokens),
  ...["cacheWrite1h", "reasoning", "totalTokens"].map((field) => optional(tokens(field))),
];
const COSTS: readonly FieldRule[] = ["input", "output", "cacheRead", "cacheWrite", "total"].map(amount);

/** A count that one request can have; what a server made up would spoil every sum and the size of the context. */
function tokens(field: string): FieldRule {
  return { ...amount(field), isSound: isCount };
}

function isCount(value: unknown): boolean {
  return isAmount(value) && (value as number) <= MAX_REQUEST_TOKENS;
}

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
  // What a count that was made up is said to have cost was made up too.
  if (Object.values(usage).some((count) => isAmount(count) && !isCount(count))) usage.cost = undefined;
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
    isCount(usage.input) &&
    isCount(usage.output) &&
    isCount(usage.cacheRead) &&
    isCount(usage.cacheWrite) &&
    usage.cacheWrite1h === undefined &&
    usage.reasoning === undefined &&
    (usage.totalTokens === undefined || isCount(usage.totalTokens)) &&
    typeof cost === "object" &&
    cost !== null &&
    isAmount(cost.input) &&
    isAmount(cost.output) &&
    isAmount(cost.cacheRead) &&
    isAmount(cost.cacheWrite) &&
    isAmount(cost.total)
  );
}
