import { isRecord } from "@bonsai-agent/messages";
import { isPlausibleCount } from "@bonsai-agent/messages/host";
import type { Entry } from "../entry.ts";
import { entryType, type FieldKind, type FieldKinds, messageRole } from "../entry-types.ts";
import { asStored, fromStored } from "../own-entries.ts";
import { chainedId, unnamedId } from "./entry-index.ts";

export type Fields = Record<string, unknown>;

/** The expected value of a field, and the value read instead of an invalid one; undefined removes the field. */
interface FieldRule {
  readonly isSound: (value: unknown) => boolean;
  readonly safe: (value: unknown) => unknown;
}

const isText = (value: unknown): value is string => typeof value === "string";
const isAmount = (value: unknown) => Number.isFinite(value) && (value as number) >= 0;
/** A count that one request can have: a larger one is a server's error, and would spoil all sums. */
const isTokens = (value: unknown) => isAmount(value) && isPlausibleCount(value as number);
const nothing = () => undefined;

const RULES: Readonly<Record<FieldKind, FieldRule>> = {
  text: { isSound: isText, safe: () => "" },
  "text?": optional(isText),
  /** An empty summary would hide all earlier entries without replacing them. */
  "full text": { isSound: (value) => isText(value) && value.trim() !== "", safe: nothing },
  name: { isSound: isText, safe: () => "unknown" },
  id: { isSound: (value) => isText(value) && value !== "", safe: () => "unknown" },
  time: { isSound: isTime, safe: timeOf },
  "number?": optional(Number.isFinite),
  "exit code": optional((value) => value === null || Number.isFinite(value)),
  amount: { isSound: isAmount, safe: () => 0 },
  "amount?": optional(isAmount),
  tokens: { isSound: isTokens, safe: () => 0 },
  "tokens?": optional(isTokens),
  /** Null is read as absent. */
  flag: { isSound: (value) => typeof (value ?? false) === "boolean", safe: Boolean },
  content: { isSound: isContent, safe: soundContent },
  record: { isSound: isRecord, safe: () => ({}) },
  replacement: {
    isSound: (value) => value === null || (isRecord(value) && isContent(value.content)),
    safe: nothing,
  },
};

/** A field that may be absent: an invalid value is removed. */
function optional(isSound: (value: unknown) => boolean): FieldRule {
  return { isSound: (value) => value === undefined || isSound(value), safe: nothing };
}

type NamedRule = FieldRule & { readonly field: string };
const namedRules = new WeakMap<FieldKinds, readonly NamedRule[]>();

function rulesOf(kinds: FieldKinds): readonly NamedRule[] {
  const known = namedRules.get(kinds);
  if (known !== undefined) return known;
  const rules = Object.entries(kinds).map(([field, kind]) => ({ field, ...RULES[kind] }));
  namedRules.set(kinds, rules);
  return rules;
}

/** Replaces invalid values by safe ones, in place. @param note.invalidFields gets the names of the replaced fields */
export function mendFields(
  record: Fields,
  kinds: FieldKinds,
  note: { invalidFields: string[] | undefined; prefix?: string },
): void {
  for (const { field, isSound, safe } of rulesOf(kinds)) {
    const value = record[field];
    if (isSound(value)) continue;
    const mended = safe(value);
    if (mended === undefined) delete record[field];
    else record[field] = mended;
    note.invalidFields?.push(`${note.prefix ?? ""}${field}`);
  }
}

const COUNTS: FieldKinds = {
  input: "tokens",
  output: "tokens",
  cacheRead: "tokens",
  cacheWrite: "tokens",
  cacheWrite1h: "tokens?",
  reasoning: "tokens?",
  totalTokens: "tokens?",
};
const COSTS: FieldKinds = {
  input: "amount",
  output: "amount",
  cacheRead: "amount",
  cacheWrite: "amount",
  total: "amount",
};

/** Sets missing and invalid counts of a usage to 0, in place. A missing usage stays missing. */
function mendUsage(record: Fields, note: { invalidFields: string[] | undefined; prefix: string }): void {
  const { usage } = record;
  const { invalidFields } = note;
  if (usage === undefined) return;
  const prefix = `${note.prefix}usage`;
  if (!isRecord(usage)) {
    delete record.usage;
    invalidFields?.push(prefix);
    return;
  }
  // The cost of an invented count is invented too.
  const isInvented = (field: string) => isAmount(usage[field]) && !isTokens(usage[field]);
  if (rulesOf(COUNTS).some(({ field }) => isInvented(field))) usage.cost = undefined;
  mendFields(usage, COUNTS, { invalidFields, prefix: `${prefix}.` });
  const hasCost = isRecord(usage.cost);
  if (!hasCost && usage.cost !== undefined) invalidFields?.push(`${prefix}.cost`);
  if (!hasCost) usage.cost = {};
  const ofCost = { invalidFields: hasCost ? invalidFields : undefined, prefix: `${prefix}.cost.` };
  mendFields(usage.cost as Fields, COSTS, ofCost);
}

const BLOCKS = new Map<unknown, FieldKinds>([
  ["text", { text: "text", textSignature: "text?" }],
  ["thinking", { thinking: "text", thinkingSignature: "text?" }],
  ["image", { data: "text", mimeType: "name" }],
  ["toolCall", { id: "text", name: "name", arguments: "record" }],
]);
const NO_FIELDS: FieldKinds = {};

function isContent(content: unknown): boolean {
  if (content === undefined || content === null || isText(content)) return true;
  return Array.isArray(content) && content.every(isBlock);
}

/** The blocks that can be read. */
function soundContent(content: unknown): unknown {
  if (!Array.isArray(content)) return [];
  const blocks = content.filter((block): block is Fields => isRecord(block) && isText(block.type));
  for (const block of blocks)
    mendFields(block, BLOCKS.get(block.type) ?? NO_FIELDS, { invalidFields: undefined });
  return blocks;
}

function isBlock(block: unknown): boolean {
  if (!isRecord(block) || !isText(block.type)) return false;
  return rulesOf(BLOCKS.get(block.type) ?? NO_FIELDS).every(({ field, isSound }) => isSound(block[field]));
}

/** `customType` of an entry that replaces one without its essential fields. */
const LOST_CUSTOM_TYPE = "bonsai.lost";
const LATEST_TIME_MS = 8.64e15;
const PLACE: FieldKinds = { timestamp: "time" };
const ROLE: FieldKinds = { role: "name" };

/**
 * Makes an entry of a known type safe to read, in place. An invalid field gets a harmless value. An entry without its
 * essential fields becomes a `custom` entry with the other ones. Unknown types, and the data of custom entries, stay as
 * they are: their readers check them.
 * @param invalidFields gets the names of the fields that had an invalid value
 */
function soundEntry(entry: Fields, invalidFields?: string[]): Fields {
  const row = entryType(entry.type);
  mendFields(entry, PLACE, { invalidFields: row && invalidFields });
  if (row === undefined) return entry;
  const missing = rulesOf(row.essential ?? NO_FIELDS).find(({ field, isSound }) => !isSound(entry[field]));
  if (missing !== undefined) {
    invalidFields?.push(missing.field);
    return lostEntry(entry);
  }
  if (row.fields !== undefined) {
    mendFields(entry, row.fields, { invalidFields });
    mendUsage(entry, { invalidFields, prefix: "" });
  }
  if (entry.type === "message") mendMessage(entry.message as Fields, invalidFields);
  return entry;
}

/** Replaces a message's invalid values by safe ones, in place. An unknown role stays. */
function mendMessage(message: Fields, invalidFields: string[] | undefined): void {
  const note = { invalidFields, prefix: "message." };
  mendFields(message, ROLE, note);
  const rules = messageRole(message.role)?.fields;
  if (rules === undefined) return;
  mendFields(message, rules, note);
  mendUsage(message, note);
}

/** True for a field without which an entry of this type is lost. */
export function isEssential(type: string, field: string): boolean {
  return field in (entryType(type)?.essential ?? NO_FIELDS);
}

/** Keeps the fields of a lost entry as data, and its place in the tree. */
function lostEntry(entry: Fields): Fields {
  const { id, parentId, timestamp, ...data } = entry;
  return { type: "custom", customType: LOST_CUSTOM_TYPE, id, parentId, timestamp, data };
}

/** True for ISO 8601, and for any other text that JavaScript reads as a time. */
function isTime(value: unknown): boolean {
  return isText(value) && !Number.isNaN(Date.parse(value));
}

function timeOf(value: unknown): string {
  const ms = typeof value === "number" && Math.abs(value) <= LATEST_TIME_MS ? value : 0;
  return new Date(ms).toISOString();
}

/**
 * Makes an entry of a line's parsed value: migrated to today's version, and safe to read. The file stays as it is.
 * @param place the entry's id and parent in the tree; its line may name others
 * @param invalidFields gets the names of the fields that had an invalid value
 * @returns undefined if the value is no object
 */
export function entryFrom(
  value: unknown,
  place: { id: string; parentId: string | null; version: number },
  invalidFields?: string[],
): Entry | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const entry = value as Record<string, unknown>;
  // The header's version does not decide: programs wrote old entries under new headers, and new ones under old.
  renameHookMessage(entry);
  nameFirstKept(entry, place.version);
  return soundEntry(fromStored(placed(entry, place)), invalidFields) as unknown as Entry;
}

function placed(
  entry: Record<string, unknown>,
  place: { id: string; parentId: string | null },
): Record<string, unknown> {
  if (entry.id === place.id && entry.parentId === place.parentId) return entry;
  const { type, id, parentId, ...fields } = entry;
  return { type, id: place.id, parentId: place.parentId, ...fields };
}

/** Up to version 2, an extension's message had the role `hookMessage`. */
function renameHookMessage(entry: Record<string, unknown>): void {
  const message = entry.message as { role?: unknown } | null | undefined;
  if (typeof message === "object" && message?.role === "hookMessage") message.role = "custom";
}

/** In version 1, a compaction named its first kept entry by line, with 0 for the header. */
function nameFirstKept(entry: Record<string, unknown>, version: number): void {
  const index = entry.firstKeptEntryIndex;
  if (entry.type !== "compaction" || typeof index !== "number" || isText(entry.firstKeptEntryId)) return;
  entry.firstKeptEntryId = version === 1 ? chainedId(index) : unnamedId(index + 1);
  delete entry.firstKeptEntryIndex;
}

/** The line that stores an entry. Leaves out the fields of an entry that is nested too deep for JSON. */
export function entryLine(entry: Entry): string {
  try {
    return JSON.stringify(asStored(entry));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const { type, id, parentId, timestamp } = entry;
    return JSON.stringify(lostEntry({ type, id, parentId, timestamp }));
  }
}
