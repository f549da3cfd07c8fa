import { SESSION_VERSION } from "./entry.ts";
import { EntryHead } from "./entry-head.ts";
import { JsonlStore } from "./jsonl-store.ts";
import { BackwardLines } from "./line-reader.ts";
import type { SessionNotice } from "./notice.ts";
import { Session } from "./session.ts";
import { type HeaderReading, readHeader } from "./session-header.ts";
import type { SessionStore } from "./session-store.ts";
import type { Durability } from "./session-writer.ts";

export interface OpenSessionOptions {
  /** Default `process`. */
  durability?: Durability;
  /** Told each notice as it comes up; all of them stand in `session.notices`. */
  onNotice?: (notice: SessionNotice) => void;
}

/**
 * Opens a session. Reads its header, and so much of its end as tells where it stands; writes nothing.
 * @param source path of a session file, or a store.
 * @throws BonsaiError `session_not_found`, `session_unreadable`, `session_empty`, `not_a_session`.
 */
export function openSession(
  source: string | { store: SessionStore },
  options: OpenSessionOptions = {},
): Session {
  const store = typeof source === "string" ? JsonlStore.open(source) : source.store;
  try {
    const reading = readHeader(store);
    const session = new Session({
      ...options,
      store,
      header: reading.header,
      version: Math.min(reading.version, SESSION_VERSION),
      readOnly: readOnlyReason(reading),
    });
    if (endsTorn(store)) {
      session.notify({
        code: "torn_line",
        message: "The last line was cut off; what stands before it is whole, and nothing is appended to it.",
      });
    }
    return session;
  } catch (error) {
    if (typeof source === "string") store.close();
    throw error;
  }
}

function readOnlyReason(reading: HeaderReading): string | undefined {
  if (reading.damage !== undefined) {
    return `${reading.damage} (\`bonsai doctor FILE --repair\` writes a copy with a sound header).`;
  }
  if (reading.version <= SESSION_VERSION) return undefined;
  return `It has format version ${reading.header.version}, and this program knows versions up to ${SESSION_VERSION}.`;
}

function endsTorn(store: SessionStore): boolean {
  const last = new BackwardLines(store).previous();
  if (last === undefined || last.ended) return false;
  const head = new EntryHead();
  const kind = head.read(last, store);
  return kind === "nul_bytes" || kind === "damaged_line" || (kind === "entry" && head.torn);
}
