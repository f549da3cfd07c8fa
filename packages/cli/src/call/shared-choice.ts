import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";
import type { OpenSharedOptions } from "@bonsai-agent/postgres";
import { forkSession, openSession, type Session } from "@bonsai-agent/session";
import type { AppContext } from "./app-context.ts";
import type { OpenDatabase } from "./database.ts";
import { resolveEntryId } from "./session-file.ts";

// Choices of sessions in the call's database. Whole sessions are loaded, because people look at all of a session.

type Shared = Pick<AppContext, "call" | "cwd" | "onNotice"> & { database: OpenDatabase };

/** A new session. The call deletes it at its end if it has no entry. */
export function newShared({ cwd, onNotice, database }: Omit<Shared, "call">, parentSession?: string) {
  const parent = parentSession === undefined ? {} : { parentSession };
  const open = async () =>
    database.follow(await database.sessions.create({ cwd, ...parent }), { onNotice, isNew: true });
  return { origin: undefined, reason: "startup" as const, open };
}

/** The session with this id, or the start of it. @throws BonsaiError `session_not_found`, `session_ambiguous`, `session_leased` */
export async function openShared(name: string, { onNotice, database }: Shared): Promise<Session> {
  const id = await database.sessions.find(name);
  return database.follow(await database.sessions.open(id, openOptions({ onNotice })), { onNotice });
}

/** As `openShared`. Waits while another host works on the session. */
export async function awaitShared(name: string, shared: Shared, signal?: AbortSignal): Promise<Session> {
  const { onNotice, database } = shared;
  try {
    return await openShared(name, shared);
  } catch (error) {
    if (!BonsaiError.is(error) || error.code !== "session_leased") throw error;
    const message = `${error.message} Waiting until the session is free. ${error.hint}`;
    onNotice({ level: "info", code: "session_waits", message });
  }
  const id = await database.sessions.find(name);
  const options = {
    ...openOptions(shared),
    ...{ waitMs: Number.POSITIVE_INFINITY, ...(signal && { signal }) },
  };
  return database.follow(await database.sessions.open(id, options), { onNotice });
}

function openOptions({ onNotice }: Pick<Shared, "onNotice">): OpenSharedOptions {
  return {
    isWhole: true,
    appendsLeftovers: true,
    onLeftovers: (file) =>
      onNotice({
        level: "warning",
        code: "session_unstored",
        message: `An earlier run on this machine could not store its last entries, and another process continued the session. They are in ${file}. \`bonsai session push\` adds them as a branch.`,
      }),
  };
}

/** A shared copy of an open session up to an entry. */
export function sharedFork(origin: Session, at: string | null, shared: Shared) {
  const open = async () =>
    openShared(await inFolder((folder) => storeFork(origin, at, { shared, folder })), shared);
  return { origin, reason: "fork" as const, open };
}

/** A shared copy of a shared session, which another host may be working on. @param leaf the last entry to copy */
export async function sharedCopy(name: string, leaf: unknown, shared: Shared) {
  const { sessions } = shared.database;
  const source = await sessions.find(name);
  const id = await inFolder(async (folder) => {
    const file = join(folder, "source.jsonl");
    await sessions.pull(source, file);
    const origin = openSession(file);
    try {
      const at = typeof leaf === "string" ? resolveEntryId(origin, leaf) : origin.leafId;
      return await storeFork(origin, at, { shared, folder });
    } finally {
      origin.close();
    }
  });
  const copy = await openShared(id, shared);
  return { origin: copy, reason: "fork" as const, open: () => copy };
}

/** Writes a copy to a file, and stores it. Returns its id. */
async function storeFork(
  origin: Session,
  at: string | null,
  { shared, folder }: { shared: Shared; folder: string },
): Promise<string> {
  const file = join(folder, "fork.jsonl");
  forkSession(origin, { ...{ at, file, cwd: shared.cwd }, parentSession: origin.id });
  return (await shared.database.sessions.push(file)).id;
}

async function inFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "bonsai-shared-"));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The id of the folder's latest session. */
export async function latestShared({ cwd, database }: Shared): Promise<string | undefined> {
  return (await database.sessions.list({ cwd, limit: 1 }))[0]?.id;
}
