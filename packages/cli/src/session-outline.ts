import { type Entry, LEAF_CUSTOM_TYPE, type Session } from "@bonsai-agent/session";
import { kindOf } from "./preview.ts";

/** An entry without its body: enough for a tree, and light enough for a hundred thousand of them. */
export interface OutlineEntry {
  /** Its record in the session's index. */
  readonly number: number;
  readonly id: string;
  readonly parentId: string | null;
  readonly type: Entry["type"];
  /** The word for it in a column. */
  readonly kind: string;
  /** True for the record of a moved leaf. */
  readonly isLeafRecord: boolean;
}

/** Entries by record, one at a time: nobody needs to hold all of a large session at once. */
export function* storedEntries(session: Session): Generator<readonly [number: number, entry: Entry]> {
  const { count } = session.index();
  for (let number = 0; number < count; number += 1) {
    const entry = session.entryAt(number);
    if (entry !== undefined) yield [number, entry];
  }
}

export function outlineEntry(number: number, entry: Entry): OutlineEntry {
  const { id, parentId, type } = entry;
  const isLeafRecord = entry.type === "custom" && entry.customType === LEAF_CUSTOM_TYPE;
  return { number, id, parentId, type, kind: kindOf(entry), isLeafRecord };
}
