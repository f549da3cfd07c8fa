import { resolve } from "node:path";
import type { SessionStartReason } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import {
  createSession,
  forkSession,
  listSessions,
  newSessionFile,
  openSession,
  type Session,
} from "@bonsai-agent/session";
import type { AgentCall } from "../invocation.ts";
import { openSessionFile, resolveEntryId, sessionPath } from "../session-file.ts";

/** Which session a call works in. Nothing is written before `open`. */
export interface SessionChoice {
  /** The session that is gone on with or copied; undefined for a new one. */
  origin: Session | undefined;
  reason: SessionStartReason;
  open(): Session;
}

/** What names sessions beside the flags. */
export interface SessionPlace {
  home: string;
  /** The working folder of a new session. */
  cwd: string;
}

/** @throws BonsaiError `nothing_to_continue`, `session_not_found`, `session_ambiguous`, and what opening throws. */
export function chooseSession(call: AgentCall, place: SessionPlace): SessionChoice {
  const { options } = call;
  const named = options.session ?? options.resume;
  if (typeof options.fork === "string") return fork(call, place, options.fork);
  if (typeof named === "string") return existing(openSessionFile(sessionPath(named, call.io), call));
  if (options.continue === true) return existing(openSessionFile(latestFile(place), call));
  return newSession(place, options.session !== false);
}

function existing(session: Session): SessionChoice {
  return { origin: session, reason: "resume", open: () => session };
}

/** A new session, in a file among the recorded ones or in memory. */
export function newSession(
  { cwd, home }: SessionPlace,
  isKept: boolean,
  parentSession?: string,
): SessionChoice {
  const open = () => {
    const id = crypto.randomUUID();
    const file = isKept ? { file: newSessionFile({ id, cwd, home, now: new Date() }) } : {};
    return createSession({ cwd, id, ...file, ...(parentSession === undefined ? {} : { parentSession }) });
  };
  return { origin: undefined, reason: "startup", open };
}

function fork(call: AgentCall, place: SessionPlace, name: string): SessionChoice {
  const origin = openSessionFile(sessionPath(name, call.io), call);
  const { leaf } = call.options;
  const at = typeof leaf === "string" ? resolveEntryId(origin, leaf) : origin.leafId;
  return forkedSession(origin, at, place);
}

/** A copy of a session up to an entry, among the recorded ones. */
export function forkedSession(
  origin: Session,
  at: string | null,
  { home, cwd }: SessionPlace,
): SessionChoice {
  return { origin, reason: "fork", open: () => openSession(forkSession(origin, { at, home, cwd })) };
}

function latestFile({ home, cwd }: SessionPlace): string {
  const [latest] = listSessions({ home, cwd }).sessions;
  if (latest !== undefined) return latest.file;
  throw new BonsaiError({
    code: "nothing_to_continue",
    message: `No session was recorded in ${resolve(cwd)}.`,
    hint: "Leave -c out to begin one; `bonsai sessions` lists those of all folders.",
  });
}
