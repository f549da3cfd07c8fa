import { earlierCopy } from "./continued-copy.ts";
import { SESSION_VERSION, type SessionHeader } from "./entry.ts";
import { type SessionNotice, SessionNotices } from "./notices.ts";
import { EntryHead } from "./read/entry-head.ts";
import { type HeaderReading, readHeader } from "./read/session-header.ts";
import { SessionReader } from "./read/session-reader.ts";
import type { Durability } from "./read/session-writer.ts";
import { Session } from "./session.ts";
import { JsonlStore } from "./store/jsonl-store.ts";
import { BackwardLines } from "./store/line-reader.ts";
import { MemoryStore, type SessionStore } from "./store/store.ts";

export interface OpenSessionOptions {
  /** Default `process`. */
  durability?: Durability;
  /** Called with each notice as it comes up; all of them stand in `session.notices`. */
  onNotice?: (notice: SessionNotice) => void;
}

/**
 * Opens a session. Reads its header, and its end as far back as its position needs; writes nothing. If a file of an older
 * version was continued in a copy, opens the copy, with the notice `migrated_copy`.
 * @param source path of a session file, or a store.
 * @throws BonsaiError `session_not_found`, `session_unreadable`, `session_empty`, `not_a_session`.
 */
export function openSession(
  source: string | { store: SessionStore },
  options: OpenSessionOptions = {},
): Session {
  const store = typeof source === "string" ? JsonlStore.open(source) : source.store;
  const notices = new SessionNotices(options.onNotice);
  try {
    const reading = readHeader(store);
    const copy = typeof source === "string" ? copyOf(store, reading) : undefined;
    if (copy !== undefined) {
      const session = new Session({ ...options, ...copy, version: SESSION_VERSION, notices });
      notices.migratedCopy({ original: store.file, copy: copy.store.file, isEarlier: true });
      store.close();
      return session;
    }
    const session = new Session({
      ...options,
      notices,
      store,
      header: reading.header,
      version: Math.min(reading.version, SESSION_VERSION),
      readOnly: readOnlyReason(reading),
    });
    if (endsCutOff(store)) notices.tornLine();
    return session;
  } catch (error) {
    if (typeof source === "string") store.close();
    throw error;
  }
}

/** The copy in which a file of an older version continues. */
function copyOf(store: SessionStore, { header, version, damage }: HeaderReading) {
  if (damage !== undefined || version >= SESSION_VERSION) return undefined;
  return earlierCopy({ header, reader: new SessionReader({ store, version }) });
}

function readOnlyReason(reading: HeaderReading): string | undefined {
  if (reading.damage !== undefined) {
    return `${reading.damage}. Run \`bonsai session doctor FILE --repair\` to write a repaired copy.`;
  }
  if (reading.version <= SESSION_VERSION) return undefined;
  return `It has format version ${reading.header.version}. Bonsai supports versions up to ${SESSION_VERSION}.`;
}

function endsCutOff(store: SessionStore): boolean {
  const last = new BackwardLines(store).previous();
  if (last === undefined || last.ended) return false;
  const head = new EntryHead();
  const kind = head.read(last, store);
  return kind === "nul_bytes" || kind === "damaged_line" || (kind === "entry" && head.isCutOff);
}

export interface CreateSessionOptions extends OpenSessionOptions {
  cwd: string;
  /** The file to write; without it and a store, the session lives in memory. */
  file?: string;
  /** An empty store for the session, instead of a file. */
  store?: SessionStore;
  /** Default: a new UUID. */
  id?: string;
  /** Absolute path of the file that this session comes from. */
  parentSession?: string;
}

/**
 * Starts a new session: in a new file of mode 0600 that begins with its header, in an empty store, or in memory.
 * @throws BonsaiError `session_exists`, `session_not_created`.
 */
export function createSession({ cwd, file, parentSession, ...options }: CreateSessionOptions): Session {
  const header: SessionHeader = {
    type: "session",
    version: SESSION_VERSION,
    id: options.id ?? crypto.randomUUID(),
    timestamp: new Date().toISOString(),
    cwd,
    ...(parentSession !== undefined && { parentSession }),
  };
  const line = `${JSON.stringify(header)}\n`;
  const store = file === undefined ? (options.store ?? new MemoryStore()) : JsonlStore.create(file, line);
  if (file === undefined) store.append(line);
  const { durability, onNotice } = options;
  const notices = new SessionNotices(onNotice);
  return new Session({ header, store, version: SESSION_VERSION, isNew: true, durability, notices });
}
