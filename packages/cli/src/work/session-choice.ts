import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { SessionStartReason } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import {
  createSessionIn,
  forkSession,
  listSessions,
  MemoryStore,
  newSessionFile,
  openSession,
  type Session,
  type SessionSummary,
  type SkippedFile,
} from "@bonsai-agent/session";
import type { AgentCall } from "../invocation.ts";
import type { Notice } from "../output.ts";
import { openSessionFile, resolveEntryId, sessionPath } from "../session-file.ts";
import { LateFileStore } from "./late-file-store.ts";
import type { Workshop } from "./workshop.ts";

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
  /** Told what is worth knowing of the sessions that are opened. */
  onNotice: (notice: Notice) => void;
}

/** Where sessions of the workshop are. */
export function placeOf({ home, cwd, shelf }: Workshop): SessionPlace {
  return { home, cwd, onNotice: shelf.onNotice };
}

/** @throws BonsaiError `nothing_to_continue`, `session_not_found`, `session_ambiguous`, and what opening throws. */
export function chooseSession(call: AgentCall, place: SessionPlace): SessionChoice {
  const { options } = call;
  const named = options.session ?? options.resume;
  if (typeof options.fork === "string") return fork(call, place, options.fork);
  if (typeof named === "string") return existing(opened(sessionPath(named, call.io), call, place));
  if (options.continue === true) return existing(opened(latestFile(place), call, place));
  return newSession(place, options.session !== false);
}

/** Opens a session file; notices name it, for often the user did not. */
export function opened(
  file: string,
  call: Pick<AgentCall, "io" | "output">,
  { onNotice }: SessionPlace,
): Session {
  return openSessionFile(file, call, ({ code, message }) =>
    onNotice({ code, message: message.includes(file) ? message : `${file}: ${message}` }),
  );
}

function existing(session: Session): SessionChoice {
  return { origin: session, reason: "resume", open: () => session };
}

/** A new session, in memory or in a file among the recorded ones: it is there from the first entry on. */
export function newSession(place: SessionPlace, isKept: boolean, parentSession?: string): SessionChoice {
  const { cwd, home, onNotice } = place;
  const open = () => {
    const id = crypto.randomUUID();
    const parent = parentSession === undefined ? {} : { parentSession };
    const store = isKept
      ? new LateFileStore(newSessionFile({ id, cwd, home, now: new Date() }))
      : new MemoryStore();
    return createSessionIn(store, { cwd, id, onNotice, ...parent });
  };
  return { origin: undefined, reason: "startup", open };
}

function fork(call: AgentCall, place: SessionPlace, name: string): SessionChoice {
  const origin = opened(sessionPath(name, call.io), call, place);
  const { leaf } = call.options;
  const at = typeof leaf === "string" ? resolveEntryId(origin, leaf) : origin.leafId;
  return forkedSession(origin, at, place);
}

/** A copy of a session up to an entry, among the recorded ones. */
export function forkedSession(
  origin: Session,
  at: string | null,
  { home, cwd, onNotice }: SessionPlace,
): SessionChoice {
  const open = () => openSession(forkSession(origin, { at, home, cwd }), { onNotice });
  return { origin, reason: "fork", open };
}

function latestFile({ home, cwd, onNotice }: SessionPlace): string {
  const { sessions, skipped } = listSessions({ home, cwd });
  const [latest] = sessions;
  for (const { file, reason } of skipped.filter(isNewerThan(latest)))
    onNotice({ code: "session_passed_over", message: `${file} is passed over: ${skipWords[reason]}.` });
  if (latest !== undefined) return latest.file;
  throw new BonsaiError({
    code: "nothing_to_continue",
    message: `No session was recorded in ${resolve(cwd)}.`,
    hint: "Leave -c out to begin one; `bonsai sessions` lists those of all folders.",
  });
}

const skipWords: Readonly<Record<SkippedFile["reason"], string>> = {
  empty: "it is empty",
  "not a session": "it does not begin as a session does",
  unreadable: "it cannot be read",
};

/** What was passed over on an earlier day already is not told again. */
function isNewerThan(latest: SessionSummary | undefined): (skipped: SkippedFile) => boolean {
  return ({ file }) =>
    (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0) > (latest?.lastActivityMs ?? 0);
}
