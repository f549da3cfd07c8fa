import { type Entry, LEAF_CUSTOM_TYPE, type Session, undoneBy } from "@bonsai-agent/session";
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
  /** Id of the compaction that it takes back. */
  readonly undoes?: string;
}

/** Visits all entries in file order, with their records in the index. */
export function eachEntry(session: Session, visit: (entry: Entry, number: number) => void): void {
  const entries = session.entries();
  const index = session.index();
  let number = -1;
  for (const entry of entries) {
    do number += 1;
    while (index.isDamaged(number));
    visit(entry, number);
  }
}

/** All entries in file order, without their bodies. */
export function sessionOutline(session: Session): OutlineEntry[] {
  const outline: OutlineEntry[] = [];
  eachEntry(session, (entry, number) => outline.push(outlineEntry(entry, number)));
  return outline;
}

export function outlineEntry(entry: Entry, number: number): OutlineEntry {
  const { id, parentId, type } = entry;
  const isLeafRecord = entry.type === "custom" && entry.customType === LEAF_CUSTOM_TYPE;
  const undoes = undoneBy(entry);
  return {
    number,
    id,
    parentId,
    type,
    kind: kindOf(entry),
    isLeafRecord,
    ...(undoes === undefined ? {} : { undoes }),
  };
}
