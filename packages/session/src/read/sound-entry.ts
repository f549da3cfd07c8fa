import type { Entry } from "../entry.ts";
import { entryType, messageRole } from "../entry-types.ts";
import { asStored, asUnderstood, repairOwnData } from "../own-entries.ts";
import { chainedId, unnamedId } from "./entry-index.ts";
import { type FieldRule, type Fields, isText, mendFields, mendUsage, text } from "./field-rules.ts";

/** `customType` of an entry that stands where one stood that lost what it was. */
const LOST_CUSTOM_TYPE = "bonsai.lost";
const LATEST_TIME_MS = 8.64e15;

/** A field of every entry and of the header. */
export const TIMESTAMP: FieldRule = { field: "timestamp", isSound: isTime, safe: timeOf };
const PLACE: readonly FieldRule[] = [TIMESTAMP];

const ROLE: readonly FieldRule[] = [text("role", "unknown")];

/**
 * Makes an entry of a known type safe to read, in place: an odd field gets a value that does no harm, and an
 * entry without what it is about becomes a `custom` one that holds what is left. Types that nobody knows stay
 * as they are. The one place where this is decided; all who read an entry rely on it.
 * @param odd gets the names of the fields that held something else than they should.
 */
function soundEntry(entry: Fields, odd?: string[]): Fields {
  const row = entryType(entry.type);
  mendFields(entry, PLACE, { odd: row && odd });
  if (row === undefined) return entry;
  const missing = row.essential?.find(({ field, isSound }) => !isSound(entry[field]));
  if (missing !== undefined) {
    odd?.push(missing.field);
    return lostEntry(entry);
  }
  if (row.fields !== undefined) {
    mendFields(entry, row.fields, { odd });
    mendUsage(entry, { odd, prefix: "" });
  }
  if (entry.type === "message") mendMessage(entry.message as Fields, odd);
  repairOwnData(entry, odd);
  return entry;
}

/** Puts safe values where a message has odd ones, in place. A role that nobody knows stays what it is. */
function mendMessage(message: Fields, odd: string[] | undefined): void {
  const note = { odd, prefix: "message." };
  mendFields(message, ROLE, note);
  const rules = messageRole(message.role)?.fields;
  if (rules === undefined) return;
  mendFields(message, rules, note);
  mendUsage(message, note);
}

/** True for a field without which an entry of this type says nothing. */
export function isEssential(type: string, field: string): boolean {
  return entryType(type)?.essential?.some((rule) => rule.field === field) ?? false;
}

/** Keeps what is left of an entry, and its place in the tree. */
function lostEntry(entry: Fields): Fields {
  const { id, parentId, timestamp, ...data } = entry;
  return { type: "custom", customType: LOST_CUSTOM_TYPE, id, parentId, timestamp, data };
}

/** As ISO 8601 writes it, or anything else that is read as a time. */
function isTime(value: unknown): boolean {
  return isText(value) && !Number.isNaN(Date.parse(value));
}

function timeOf(value: unknown): string {
  const ms = typeof value === "number" && Math.abs(value) <= LATEST_TIME_MS ? value : 0;
  return new Date(ms).toISOString();
}

/**
 * Makes an entry of a line's parsed value, as of today's version and safe to read. The file stays as it is:
 * older versions are migrated, and odd fields mended, in memory only.
 * @param place the id and the parent that the entry has in the tree, whatever its line says.
 * @param odd gets the names of the fields that held something else than they should.
 * @returns undefined when the value is no object.
 */
export function entryFrom(
  value: unknown,
  place: { id: string; parentId: string | null; version: number },
  odd?: string[],
): Entry | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const entry = value as Record<string, unknown>;
  // Whatever the header says: programs wrote old entries under new headers, and new ones under old.
  renameHookMessage(entry);
  nameFirstKept(entry, place.version);
  return soundEntry(asUnderstood(placed(entry, place)), odd) as unknown as Entry;
}

function placed(
  entry: Record<string, unknown>,
  place: { id: string; parentId: string | null },
): Record<string, unknown> {
  if (entry.id === place.id && entry.parentId === place.parentId) return entry;
  const { type, id, parentId, ...fields } = entry;
  return { type, id: place.id, parentId: place.parentId, ...fields };
}

/** Up to version 2, an extension's message had a role of another name. */
function renameHookMessage(entry: Record<string, unknown>): void {
  const message = entry.message as { role?: unknown } | null | undefined;
  if (typeof message === "object" && message?.role === "hookMessage") message.role = "custom";
}

/** In version 1, a compaction counted lines, the header being 0. Under a newer header, the entries are named after those. */
function nameFirstKept(entry: Record<string, unknown>, version: number): void {
  const index = entry.firstKeptEntryIndex;
  if (entry.type !== "compaction" || typeof index !== "number" || isText(entry.firstKeptEntryId)) return;
  entry.firstKeptEntryId = version === 1 ? chainedId(index) : unnamedId(index + 1);
  delete entry.firstKeptEntryIndex;
}

/** The line that stores an entry. Values that are nested deeper than JSON can be written are left out. */
export function entryLine(entry: Entry): string {
  try {
    return JSON.stringify(asStored(entry));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const { type, id, parentId, timestamp } = entry;
    return JSON.stringify(lostEntry({ type, id, parentId, timestamp }));
  }
}
