import { type EntryRecord, SESSION_VERSION, type Session, type SessionStore } from "@bonsai-agent/session";
import { kindWord } from "../../preview.ts";
import { type OutlineEntry, outlineEntry } from "../../session-outline.ts";

/** So much of a line is looked at: the head of a message entry fits, whatever follows. */
const headBytes = 256;

/** The head of a message as Bonsai writes it; lines that are written in another way are parsed. */
const messageHead =
  /^\{"type":"message","id":"[^"\\]*","parentId":(?:null|"[^"\\]*"),"timestamp":"[^"\\]*","message":\{"role":"([A-Za-z]+)"/;

/**
 * All entries in file order, as `sessionOutline` gives them, in a tenth of its time: messages are not parsed, so that one
 * whose body is damaged stands among them.
 */
export function treeOutline(session: Session): OutlineEntry[] {
  const heads = new HeadReader(session.store);
  const isCurrent = session.header.version === SESSION_VERSION;
  const outline: OutlineEntry[] = [];
  for (const record of session.index().records()) {
    const entry = (isCurrent && quickEntry(record, heads)) || parsedEntry(session, record);
    if (entry !== undefined) outline.push(entry);
  }
  return outline;
}

/** One read for the heads of many short lines; of long lines, little more than the head is read. */
const windowBytes = 16_384;

/** Reads the heads of lines, one after the other. */
class HeadReader {
  readonly #store: SessionStore;
  readonly #memory = Buffer.alloc(windowBytes);
  #from = 0;
  #until = 0;

  constructor(store: SessionStore) {
    this.#store = store;
  }

  head({ offset, lengthBytes }: Pick<EntryRecord, "offset" | "lengthBytes">): string {
    const length = Math.min(headBytes, lengthBytes);
    if (offset < this.#from || offset + length > this.#until) {
      this.#from = offset;
      this.#until = offset + this.#store.read(this.#memory, offset);
    }
    const start = offset - this.#from;
    return this.#memory.toString("latin1", start, Math.min(start + length, this.#until - this.#from));
  }
}

function quickEntry(record: EntryRecord, heads: HeadReader): OutlineEntry | undefined {
  if (record.type !== "message") return undefined;
  const role = messageHead.exec(heads.head(record))?.[1];
  if (role === undefined) return undefined;
  const { number, id, parentId } = record;
  return { number, id, parentId, type: "message", kind: kindWord(role), isLeafRecord: false };
}

function parsedEntry(session: Session, { number }: EntryRecord): OutlineEntry | undefined {
  const entry = session.entryAt(number);
  return entry === undefined ? undefined : outlineEntry(entry, number);
}
