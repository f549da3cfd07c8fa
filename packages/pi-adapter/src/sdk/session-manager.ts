import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { sessionManagerOf } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import {
  createSession,
  forkSession,
  JsonlStore,
  listSessions,
  MemoryStore,
  openSession,
  type Session,
  type SessionStore,
  type SessionSummary,
  sessionFolder,
} from "@bonsai-agent/session";
import { inUse } from "../context-in-use.ts";

interface NewSessionOptions {
  /** Default: a random UUID. */
  id?: string;
  /** Path of the file that it comes from. */
  parentSession?: string;
}

/** pi's sessions, on Bonsai's store. An extension reads them; `createAgentSession` appends to them. */
export const SessionManager = {
  /** A new session. Its file appears when an agent opens it. */
  create: (cwd: string, sessionDir?: string, options?: NewSessionOptions) =>
    managerOf(
      newSession(cwd, options, sessionDir === undefined ? sessionFolder({ cwd }) : resolve(sessionDir)),
    ),
  inMemory: (cwd: string = process.cwd(), options?: NewSessionOptions) => managerOf(newSession(cwd, options)),
  /** The session of a file. A path without a file is the place of a new session. @throws errors of `openSession` */
  open(path: string, sessionDir?: string, cwd?: string) {
    const file = resolve(path);
    const folder = sessionDir === undefined ? dirname(file) : resolve(sessionDir);
    const session = existsSync(file) ? copyOf(file) : createSession({ cwd: resolve(cwd ?? process.cwd()) });
    return managerOf({ session, file, folder, cwd: resolve(cwd ?? (session.cwd || process.cwd())) });
  },
  /** The sessions of a working folder, latest first. */
  list: async (cwd: string, sessionDir?: string) =>
    listSessions(sessionDir === undefined ? { cwd } : { folder: sessionDir })
      .sessions.filter((session) => resolve(session.cwd) === resolve(cwd))
      .map(sessionInfo),
  /** All sessions, or those of one folder. */
  listAll: async (folder?: unknown) =>
    listSessions(typeof folder === "string" ? { folder } : {}).sessions.map(sessionInfo),
};

/** A session of an extension. */
interface KeptSession {
  /** In memory until an agent opens it. */
  session: Session;
  /** Its present or future file; absent for a session that stays in memory. */
  file?: string | undefined;
  folder?: string | undefined;
  cwd: string;
}

export type PiSessionManager = ReturnType<typeof managerOf>;

const keptSessions = new WeakMap<object, KeptSession>();

function managerOf(kept: KeptSession) {
  const manager = {
    ...sessionManagerOf(() => kept.session),
    getCwd: () => kept.cwd,
    getSessionFile: () => kept.session.file ?? kept.file,
    getSessionDir: () => kept.folder ?? "",
    isPersisted: () => kept.folder !== undefined,
    /** Continues in a copy of the path to an entry. Returns the file of the copy. @throws BonsaiError `entry_not_found` */
    createBranchedSession(leafId: string) {
      const { file, folder } = kept;
      if (file === undefined || !existsSync(file)) throw notStored();
      const origin = openSession(file);
      try {
        kept.file = forkSession(origin, { at: leafId, folder: folder! });
      } finally {
        origin.close();
      }
      kept.session = copyOf(kept.file);
      return kept.file;
    },
  };
  keptSessions.set(manager, kept);
  return manager;
}

/** Opens the manager's session for an agent. @throws BonsaiError `pi_session_invalid`, `pi_session_in_use` */
export function openKept(manager: object): Session {
  const kept = keptSessions.get(manager);
  if (kept === undefined)
    throw new BonsaiError({
      code: "pi_session_invalid",
      message: "createAgentSession was given a sessionManager that SessionManager did not make.",
      hint: "Use SessionManager.create, open or inMemory.",
    });
  const { file, session } = kept;
  if (file === undefined) return session;
  refuseInUse(file);
  if (!existsSync(file)) JsonlStore.create(file, bytesOf(session.store).toString()).close();
  kept.session = openSession(file);
  return kept.session;
}

/** Reads the session again after its agent has closed it. */
export function readKeptAgain(manager: object): void {
  const kept = keptSessions.get(manager);
  if (kept?.file === undefined) return;
  kept.file = kept.session.file ?? kept.file;
  kept.session = copyOf(kept.file);
}

function newSession(cwd: string, options: NewSessionOptions = {}, folder?: string): KeptSession {
  const place = resolve(cwd);
  const session = createSession({ cwd: place, ...options });
  const { id, timestamp } = session.header;
  const name = `${timestamp.replaceAll(/[:.]/g, "-")}_${id}.jsonl`;
  return { session, cwd: place, folder, file: folder === undefined ? undefined : join(folder, name) };
}

/** The session of a file in memory, so that reading it keeps nothing open. */
function copyOf(file: string): Session {
  const stored = openSession(file);
  try {
    return openSession({ store: new MemoryStore(bytesOf(stored.store)) });
  } finally {
    stored.close();
  }
}

function bytesOf(store: SessionStore): Buffer {
  const bytes = Buffer.allocUnsafe(store.size());
  return bytes.subarray(0, store.read(bytes, 0));
}

function sessionInfo(summary: SessionSummary) {
  const { file, id, cwd, name, createdMs, lastActivityMs, parentSession, firstWords = "" } = summary;
  return {
    ...{ path: file, id, cwd, firstMessage: firstWords, name, parentSessionPath: parentSession },
    created: new Date(createdMs),
    modified: new Date(lastActivityMs),
  };
}

function notStored(): BonsaiError {
  return new BonsaiError({
    code: "pi_session_invalid",
    message: "createBranchedSession was called on a session without a file.",
    hint: "Use SessionManager.open with the file of a session.",
  });
}

/** Two writers of one session would each make a branch. */
function refuseInUse(file: string): void {
  const open = inUse()?.context.sessionManager.getSessionFile();
  if (open === undefined || resolve(open) !== file) return;
  throw new BonsaiError({
    code: "pi_session_in_use",
    message: `${file} is the open session. Only the agent can append to it.`,
    hint: "Use appendEntry, sendMessage, setLabel or setSessionName of the API object.",
  });
}
