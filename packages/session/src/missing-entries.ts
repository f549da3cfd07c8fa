import { LEAF_RECORD } from "./own-entries.ts";
import type { EntryIndex, EntryRecord } from "./read/entry-index.ts";
import type { Session } from "./session.ts";
import { readBytes } from "./store/line-reader.ts";

const NEWLINE = 10;
const BATCH_BYTES = 1 << 20;

/**
 * Adds the entries of another copy that this session lacks, as they are stored there. The position moves to the end of the
 * other copy if that has all entries of this session. Otherwise the entries are a branch, and the position stays. Close the
 * session afterwards: its memory does not change.
 * @returns the added bytes; 0 if no entry was missing
 * @throws BonsaiError `append_failed`, `session_read_only`
 */
export function addMissingEntries(session: Session, other: Session): { bytes: number; isBranch: boolean } {
  const { store, leafId } = session;
  const [own, others] = [session.index(), other.index()];
  const missing = recordsMissingIn(own, others);
  const isBranch = recordsMissingIn(others, own).length > 0;
  if (missing.length === 0) return { bytes: 0, isBranch };
  let lines = endsOpen(session) ? "\n" : "";
  let bytes = 0;
  for (const record of missing) {
    lines += `${readBytes(other.store, record)}\n`;
    if (lines.length < BATCH_BYTES) continue;
    bytes += store.append(lines);
    lines = "";
  }
  const timestamp = new Date().toISOString();
  const back = { ...LEAF_RECORD, id: session.newId(), parentId: leafId, timestamp };
  if (isBranch) lines += `${JSON.stringify(back)}\n`;
  if (lines !== "") bytes += store.append(lines);
  return { bytes, isBranch };
}

function recordsMissingIn(index: EntryIndex, source: EntryIndex): EntryRecord[] {
  // Entries without an id have one from their place, which means nothing in another file.
  const unnamed = new Set(source.unnamed());
  return [...source.records()].filter(({ id, number }) => !unnamed.has(number) && index.find(id) < 0);
}

/** True if the last line is cut off. */
function endsOpen({ store }: Session): boolean {
  const [last] = readBytes(store, { offset: Math.max(0, store.size() - 1), lengthBytes: 1 });
  return last !== undefined && last !== NEWLINE;
}
