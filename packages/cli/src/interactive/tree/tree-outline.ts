import { type EntryRecord, SESSION_VERSION, type Session } from "@bonsai-agent/session";
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
  const head = Buffer.alloc(headBytes);
  const outline: OutlineEntry[] = [];
  for (const record of session.index().records()) {
    const entry = quickEntry(session, record, head) ?? parsedEntry(session, record);
    if (entry !== undefined) outline.push(entry);
  }
  return outline;
}

function quickEntry(session: Session, record: EntryRecord, head: Buffer): OutlineEntry | undefined {
  if (record.type !== "message" || session.header.version !== SESSION_VERSION) return undefined;
  const length = session.store.read(head.subarray(0, Math.min(headBytes, record.lengthBytes)), record.offset);
  const role = messageHead.exec(head.toString("latin1", 0, length))?.[1];
  if (role === undefined) return undefined;
  const { number, id, parentId } = record;
  return { number, id, parentId, type: "message", kind: kindWord(role), isLeafRecord: false };
}

function parsedEntry(session: Session, { number }: EntryRecord): OutlineEntry | undefined {
  const entry = session.entryAt(number);
  return entry === undefined ? undefined : outlineEntry(entry, number);
}
