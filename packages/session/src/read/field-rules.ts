import { isRecord } from "@bonsai-agent/messages";
import { isPlausibleCount } from "@bonsai-agent/messages/host";

/** The expected value of a field, and the value read instead of an invalid one. */
export interface FieldRule {
  readonly field: string;
  readonly isSound: (value: unknown) => boolean;
  /** The value read instead of an invalid one; undefined removes the field. */
  readonly safe: (value: unknown, record: Fields) => unknown;
  /** True for a field that may be absent. */
  readonly isOptional?: boolean;
}

export type Fields = Record<string, unknown>;

/** Replaces invalid values by safe ones, in place. @param note.invalidFields gets the names of the replaced fields */
export function mendFields(
  record: Fields,
  rules: readonly FieldRule[],
  note: { invalidFields: string[] | undefined; prefix?: string },
): void {
  for (const rule of rules) {
    if (isMet(rule, record)) continue;
    const { field } = rule;
    const mended = rule.safe(record[field], record);
    if (mended === undefined) delete record[field];
    else record[field] = mended;
    note.invalidFields?.push(`${note.prefix ?? ""}${field}`);
  }
}

/** True if the field has a valid value. */
function isMet({ field, isSound, isOptional }: FieldRule, record: Fields): boolean {
  const value = record[field];
  return (value === undefined && isOptional === true) || isSound(value);
}

export function text(field: string, fallback = ""): FieldRule {
  return { field, isSound: isText, safe: () => fallback };
}

/** A field that may be absent; null is read as absent. */
export function flag(field: string): FieldRule {
  const isSound = (value: unknown) => value === undefined || value === null || typeof value === "boolean";
  return { field, isSound, safe: (value) => Boolean(value) };
}

/** The rule for a field that may be absent: an invalid value is removed. */
export function optional({ field, isSound }: FieldRule): FieldRule {
  return { field, isSound, safe: () => undefined, isOptional: true };
}

/** A number that counts something. */
export function amount(field: string): FieldRule {
  return { field, isSound: isAmount, safe: () => 0 };
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isAmount(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

const COUNTS: readonly FieldRule[] = [
  ...["input", "output", "cacheRead", "cacheWrite"].map(tokens),
  ...["cacheWrite1h", "reasoning", "totalTokens"].map((field) => optional(tokens(field))),
];
const COSTS: readonly FieldRule[] = ["input", "output", "cacheRead", "cacheWrite", "total"].map(amount);

/** A count that one request can have: a larger one is a server's error, and would spoil all sums. */
function tokens(field: string): FieldRule {
  return { ...amount(field), isSound: isCount };
}

function isCount(value: unknown): boolean {
  return isAmount(value) && isPlausibleCount(value as number);
}

/** Sets missing and invalid counts of a usage to 0, in place. A missing usage stays missing. */
export function mendUsage(
  record: Fields,
  note: { invalidFields: string[] | undefined; prefix: string },
): void {
  const { usage } = record;
  if (usage === undefined) return;
  const prefix = `${note.prefix}usage`;
  if (!isRecord(usage)) {
    delete record.usage;
    note.invalidFields?.push(prefix);
    return;
  }
  // The cost of an invented count is invented too.
  if (COUNTS.some(({ field }) => isAmount(usage[field]) && !isCount(usage[field]))) usage.cost = undefined;
  mendFields(usage, COUNTS, { invalidFields: note.invalidFields, prefix: `${prefix}.` });
  if (!isRecord(usage.cost)) {
    if (usage.cost !== undefined) note.invalidFields?.push(`${prefix}.cost`);
    usage.cost = {};
    mendFields(usage.cost as Fields, COSTS, { invalidFields: undefined });
  } else mendFields(usage.cost, COSTS, { invalidFields: note.invalidFields, prefix: `${prefix}.cost.` });
}

export const CONTENT: FieldRule = { field: "content", isSound: isContent, safe: soundContent };

const TEXT_FIELDS = new Map<unknown, readonly FieldRule[]>([
  ["text", [text("text"), optional(text("textSignature"))]],
  ["thinking", [text("thinking"), optional(text("thinkingSignature"))]],
  ["image", [text("data"), text("mimeType", "unknown")]],
  [
    "toolCall",
    [text("id"), text("name", "unknown"), { field: "arguments", isSound: isRecord, safe: () => ({}) }],
  ],
]);

export function isContent(content: unknown): boolean {
  if (content === undefined || content === null || isText(content)) return true;
  return Array.isArray(content) && content.every(isBlock);
}

/** The blocks that can be read. */
function soundContent(content: unknown): unknown {
  if (!Array.isArray(content)) return [];
  const blocks = content.filter((block): block is Fields => isRecord(block) && isText(block.type));
  for (const block of blocks)
    mendFields(block, TEXT_FIELDS.get(block.type) ?? [], { invalidFields: undefined });
  return blocks;
}

function isBlock(block: unknown): boolean {
  if (!isRecord(block) || !isText(block.type)) return false;
  const rules = TEXT_FIELDS.get(block.type);
  return rules === undefined || rules.every((rule) => isMet(rule, block));
}
