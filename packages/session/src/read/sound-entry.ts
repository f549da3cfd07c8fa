import type { Entry } from "../entry.ts";
import { entryType, messageRole } from "../entry-types.ts";
import { asStored, fromStored } from "../own-entries.ts";
import { chainedId, unnamedId } from "./entry-index.ts";
import { type FieldRule, type Fields, isText, mendFields, mendUsage, text } from "./field-rules.ts";

/** `customType` of an entry that replaces one without its essential fields. */
const LOST_CUSTOM_TYPE = "bonsai.lost";
const LATEST_TIME_MS = 8.64e15;

/** A field of every entry and of the header. */
export const TIMESTAMP: FieldRule = { field: "timestamp", isSound: isTime, safe: timeOf };
const PLACE: readonly FieldRule[] = [TIMESTAMP];

const ROLE: readonly FieldRule[] = [text("role", "unknown")];

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
  const missing = row.essential?.find(({ field, isSound }) => !isSound(entry[field]));
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
  return entryType(type)?.essential?.some((rule) => rule.field === field) ?? false;
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
