import type { Entry } from "./entry.ts";
import { chainedId, unnamedId } from "./entry-index.ts";
import { isText } from "./field-rule.ts";
import { lostEntry, soundEntry } from "./sound-entry.ts";

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
  return soundEntry(placed(entry, place), odd) as unknown as Entry;
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
    return JSON.stringify(entry);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const { type, id, parentId, timestamp } = entry;
    return JSON.stringify(lostEntry({ type, id, parentId, timestamp }));
  }
}
