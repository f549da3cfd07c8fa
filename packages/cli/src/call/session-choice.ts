import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { Agent } from "@bonsai-agent/agent";
import type { SessionControl } from "@bonsai-agent/extension/host";
import { BonsaiError } from "@bonsai-agent/messages";
import {
  createSession,
  forkSession,
  JsonlStore,
  listSessions,
  MemoryStore,
  newSessionFile,
  openSession,
  type Session,
  type SessionStore,
} from "@bonsai-agent/session";
import type { AppContext } from "./app-context.ts";
import type { OpenDatabase } from "./database.ts";
import { wrongUsage } from "./failure.ts";
import type { Call } from "./invocation.ts";
import { pathInMemory } from "./session-copy.ts";
import { openSessionFile, resolveEntryId, sessionPath, sessionPlace } from "./session-file.ts";
import { awaitShared, latestShared, newShared, openShared, sharedCopy, sharedFork } from "./shared-choice.ts";

/** The session of a call. Nothing is written before `open`. */
export interface SessionChoice {
  /** The continued or copied session; undefined for a new one. */
  origin: Session | undefined;
  /** For `session_start`. As in pi, a continued session has "startup", too. */
  reason: "startup" | "fork";
  open(): Session | Promise<Session>;
}

/**
 * @param signal ends the wait for another host
 * @throws BonsaiError `nothing_to_continue`, `session_not_found`, `session_ambiguous`, and what opening throws
 */
export async function chooseSession(app: AppContext, signal?: AbortSignal): Promise<SessionChoice> {
  const { options } = app.call;
  const { leaf } = options;
  const named = options.session ?? options.resume;
  const { database } = app;
  const isFile = typeof (named ?? options.fork) === "string" && isPath.test(String(named ?? options.fork));
  if (database !== undefined && options.session !== false && !isFile)
    return chooseShared({ ...app, database }, signal);
  if (typeof options.fork === "string") {
    const origin = openNamed(options.fork, app);
    return forkedSession(
      origin,
      typeof leaf === "string" ? resolveEntryId(origin, leaf) : origin.leafId,
      app,
    );
  }
  if (typeof named === "string") return existing(openNamed(named, app));
  if (options.continue === true)
    return existing(opened(latestSession({ ...app.call, output: { notify: app.models.onNotice } }), app));
  return newSession(app, options.session !== false);
}

/** A name that can only be a file, not the start of an id. */
export const isPath = /[/\\]|\.jsonl$/;

/** As `chooseSession`, in a database. */
async function chooseShared(
  app: AppContext & { database: OpenDatabase },
  signal?: AbortSignal,
): Promise<SessionChoice> {
  const { options } = app.call;
  if (typeof options.fork === "string") return sharedCopy(options.fork, options.leaf, app);
  const named = options.session ?? options.resume;
  if (named === true)
    throw wrongUsage("-r needs the id of a shared session.", "Run `bonsai session list` to list the ids.");
  const name =
    typeof named === "string" ? named : options.continue === true ? await latestShared(app) : undefined;
  if (name !== undefined)
    return existing(
      options.mode === "tui" ? await awaitShared(name, app, signal) : await openShared(name, app),
    );
  if (options.continue === true) throw nothingToContinue(app.cwd);
  return newShared(app);
}

function openNamed(name: string, app: AppContext): Session {
  return opened(sessionPath(name, app.call), app);
}

/** Opens a session file. Notices name it. */
function opened(file: string, { call, models }: AppContext): Session {
  return openSessionFile(file, call, ({ code, message }) =>
    models.onNotice({ code, message: message.includes(file) ? message : `${file}: ${message}` }),
  );
}

function existing(session: Session): SessionChoice {
  return { origin: session, reason: "startup", open: () => session };
}

/** A new session, in memory or in a file that its first entry creates. */
export function newSession(app: AppContext, isKept: boolean, parentSession?: string): SessionChoice {
  const {
    cwd,
    call,
    database,
    models: { onNotice },
  } = app;
  if (isKept && database !== undefined) return newShared({ ...app, database }, parentSession);
  const open = () => {
    const id = crypto.randomUUID();
    const parent = parentSession === undefined ? {} : { parentSession };
    const store = isKept
      ? new LateFileStore(newSessionFile({ id, cwd, ...sessionPlace(call), now: new Date() }))
      : new MemoryStore();
    return createSession({ store, cwd, id, onNotice, ...parent });
  };
  return { origin: undefined, reason: "startup", open };
}

/** A copy of a session up to an entry. */
export function forkedSession(
  origin: Session,
  at: string | null,
  { call, cwd, models: { onNotice } }: AppContext,
): SessionChoice {
  const open = () => openSession(forkSession(origin, { at, cwd, ...sessionPlace(call) }), { onNotice });
  return { origin, reason: "fork", open };
}

/** The file of the folder's latest session. @throws BonsaiError `nothing_to_continue` */
export function latestSession(call: Call): string {
  const { cwd } = call.io;
  const { sessions, skipped } = listSessions({ ...sessionPlace(call), cwd });
  const [latest] = sessions;
  for (const { file, reason } of skipped) {
    // An older skipped file is no news.
    const { mtimeMs = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {};
    if (mtimeMs > (latest?.lastActivityMs ?? 0))
      call.output.notify({ code: "session_passed_over", message: `Skipped ${file}: ${skipWords[reason]}.` });
  }
  if (latest !== undefined) return latest.file;
  throw nothingToContinue(cwd);
}

export function nothingToContinue(cwd: string): BonsaiError {
  return new BonsaiError({
    code: "nothing_to_continue",
    message: `Found no session for ${resolve(cwd)}.`,
    hint: "Omit -c to start a new session. Run `bonsai session list` to list the sessions of all folders.",
  });
}

type SkippedFile = ReturnType<typeof listSessions>["skipped"][number];

const skipWords: Readonly<Record<SkippedFile["reason"], string>> = {
  empty: "it is empty",
  "not a session": "it is not a session file",
  unreadable: "it is unreadable",
};

interface SessionMover {
  readonly app: AppContext;
  readonly agent: Agent;
  replace(reason: "new" | "resume", choice: SessionChoice): Promise<boolean>;
  fork(entryId: string, choice: SessionChoice, position: "before" | "at"): Promise<boolean>;
}

/** Session commands of extensions. */
export function sessionControl(mover: SessionMover): SessionControl {
  return {
    newSession: async ({ parentSession }) => mover.replace("new", freshChoice(mover, parentSession)),
    switchSession: async (name) => mover.replace("resume", await namedChoice(mover, name)),
    fork: async (entryId, { position }) => {
      const id = resolveEntryId(mover.agent.session, entryId);
      return mover.fork(id, forkChoice(mover, id, position), position);
    },
    navigateTree: async (targetId, { summarize, ...options }) => {
      const target = resolveEntryId(mover.agent.session, targetId);
      const { status } = await mover.agent.navigate(target, {
        ...(summarize !== undefined && { summarise: summarize }),
        ...summaryOptions(options),
      });
      return status !== "cancelled";
    },
    mergeBranch: async (branchId, options) => {
      const { status, summaryEntry } = await mover.agent.merge(
        resolveEntryId(mover.agent.session, branchId),
        summaryOptions(options),
      );
      return { cancelled: status === "cancelled", summaryEntryId: summaryEntry?.id };
    },
  };
}

function summaryOptions({
  customInstructions,
  replaceInstructions,
  label,
}: Parameters<SessionControl["mergeBranch"]>[1]) {
  return {
    ...(customInstructions !== undefined && { focus: customInstructions }),
    ...(replaceInstructions === undefined ? {} : { replaceInstructions }),
    ...(label === undefined ? {} : { label }),
  };
}

/** A new session, in memory if the current one is. */
export function freshChoice({ app, agent }: SessionMover, parentSession?: string): SessionChoice {
  return newSession(app, agent.session.file !== undefined, parentSession);
}

/** A shared session by its id, or a file. */
export async function namedChoice({ app }: SessionMover, name: string): Promise<SessionChoice> {
  const { database } = app;
  if (database === undefined || isPath.test(name)) return existing(openNamed(name, app));
  return existing(await openShared(name, { ...app, database }));
}

/** A copy up to an entry; with "before", up to the parent of a user message. In memory if the session is. */
export function forkChoice(
  { app, agent }: SessionMover,
  entryId: string,
  position: "before" | "at" = "at",
): SessionChoice {
  const { session } = agent;
  const at = position === "at" ? entryId : placeBefore(session, entryId);
  if (session.store.durable !== undefined && app.database !== undefined)
    return sharedFork(session, at, { ...app, database: app.database });
  if (session.file !== undefined) return forkedSession(session, at, app);
  return { origin: session, reason: "fork", open: () => pathInMemory(session, at) };
}

function placeBefore(session: Session, entryId: string): string | null {
  const entry = session.entry(entryId);
  return entry?.type === "message" && entry.message.role === "user" ? entry.parentId : entryId;
}

/**
 * Creates a session's file at the second append, because the first is the header. A session without entries leaves
 * no file.
 */
export class LateFileStore implements SessionStore {
  readonly readOnly = undefined;
  readonly #planned: string;
  #store: SessionStore = new MemoryStore();
  #beginning: string | undefined;

  constructor(file: string) {
    this.#planned = file;
  }

  /** The file's path, even before it exists. */
  get file(): string {
    return this.#store.file ?? this.#planned;
  }

  size(): number {
    return this.#store.size();
  }

  read(target: Uint8Array, offset: number): number {
    return this.#store.read(target, offset);
  }

  /** @throws BonsaiError as a store does; the second append also as `JsonlStore.create` */
  append(text: string): number {
    if (this.#store instanceof JsonlStore) return this.#store.append(text);
    if (this.#beginning !== undefined) return this.#make(this.#beginning, text);
    this.#beginning = text;
    return this.#store.append(text);
  }

  flush(): void {
    this.#store.flush();
  }

  isGone(): boolean {
    return this.#store.isGone?.() ?? false;
  }

  continueInCopy(write: (fd: number) => void): void {
    this.#store.continueInCopy?.(write);
  }

  close(): void {
    this.#store.close();
  }

  #make(beginning: string, text: string): number {
    this.#store = JsonlStore.create(this.#planned, beginning + text);
    return Buffer.byteLength(text);
  }
}
