import { SESSION_VERSION, type SessionHeader } from "./entry.ts";
import { JsonlStore } from "./jsonl-store.ts";
import { MemoryStore } from "./memory-store.ts";
import type { OpenSessionOptions } from "./open-session.ts";
import { Session } from "./session.ts";
import type { SessionStore } from "./session-store.ts";

export interface CreateSessionOptions extends OpenSessionOptions {
  cwd: string;
  /** Where to write; without it the session lives in memory. */
  file?: string;
  /** Default: a new UUID. */
  id?: string;
  /** Absolute path of the file that this session comes from. */
  parentSession?: string;
}

/**
 * Starts a new session, in a new file of mode 0600 that begins with its header, or in memory.
 * @throws BonsaiError `session_exists`, `session_not_created`.
 */
export function createSession(options: CreateSessionOptions): Session {
  const { file } = options;
  return start(options, (line) =>
    file === undefined ? new MemoryStore(line) : JsonlStore.create(file, line),
  );
}

/** Starts a new session in a store that is empty. */
export function createSessionIn(store: SessionStore, options: Omit<CreateSessionOptions, "file">): Session {
  return start(options, (line) => {
    store.append(line);
    return store;
  });
}

function start(options: CreateSessionOptions, storeWith: (line: string) => SessionStore): Session {
  const header: SessionHeader = {
    type: "session",
    version: SESSION_VERSION,
    id: options.id ?? crypto.randomUUID(),
    timestamp: new Date().toISOString(),
    cwd: options.cwd,
    ...(options.parentSession === undefined ? {} : { parentSession: options.parentSession }),
  };
  const store = storeWith(`${JSON.stringify(header)}\n`);
  const { durability, onNotice } = options;
  return new Session({ header, store, version: SESSION_VERSION, durability, onNotice });
}
