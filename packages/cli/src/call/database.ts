import { hostname } from "node:os";
import { join } from "node:path";
import type { AgentNotice } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import type { SharedSessions } from "@bonsai-agent/postgres";
import { bonsaiHome, type Session } from "@bonsai-agent/session";
import { wrongUsage } from "./failure.ts";
import type { Call } from "./invocation.ts";
import { readCallSettings } from "./settings.ts";

/** The shared sessions of a call. */
export interface OpenDatabase {
  pool: ReturnType<typeof import("@bonsai-agent/postgres")["openPool"]>;
  sessions: SharedSessions;
  /**
   * Notifies if another host takes an open session. Deletes a new session without entries at the end of the call.
   * @returns the session
   */
  follow(session: Session, options: { onNotice: (notice: AgentNotice) => void; isNew?: boolean }): Session;
  /** True if another host took the session: it can be opened again. */
  isLost(session: Session): boolean;
  /** Waits until closed sessions are stored. @throws the first failure to store one */
  close(): Promise<void>;
}

const FROM_ENVIRONMENT = "env:";

/**
 * The URL of `--database`, of BONSAI_DATABASE or of the setting `sessions.store`; undefined for sessions in files.
 * @throws BonsaiError `wrong_usage`
 */
export function databaseUrl(call: Call): string | undefined {
  const { options, io } = call;
  if (options.mode === "acp") return refuseForEditors(options.database);
  if (typeof options.database === "string") return options.database;
  // A worker opens the sessions of its agents itself.
  if (options.database === false) return undefined;
  const store = io.env.BONSAI_DATABASE || readCallSettings(call).sessions.store;
  if (store === "files") return undefined;
  if (!store.startsWith(FROM_ENVIRONMENT)) return store;
  const name = store.slice(FROM_ENVIRONMENT.length);
  const url = io.env[name];
  if (url !== undefined && url !== "") return url;
  throw wrongUsage(
    `The setting sessions.store needs the environment variable ${name}, which is not set.`,
    `Set ${name} to the URL of the database, or pass --database URL.`,
  );
}

/** Editors list, open and delete sessions in files. */
function refuseForEditors(url: unknown): undefined {
  if (typeof url !== "string") return undefined;
  throw wrongUsage("--mode acp keeps its sessions in files.", "Remove --database.");
}

/** Opens the database of a call. The driver is loaded only here. @throws BonsaiError `wrong_usage`, `database_url_invalid` */
export async function openDatabase(call: Call): Promise<OpenDatabase> {
  const url = databaseUrl(call);
  if (url !== undefined) return openDatabaseAt(url, call);
  throw wrongUsage(
    "This command needs a database.",
    "Pass --database URL, set BONSAI_DATABASE, or set sessions.store.",
  );
}

export async function openDatabaseAt(
  url: string,
  { io, options: { lease } }: Pick<Call, "io" | "options">,
): Promise<OpenDatabase> {
  const { openPool, sharedSessions, sharedStoreOf } = await import("@bonsai-agent/postgres");
  const pool = openPool(url);
  const sessions = sharedSessions({
    ...{ pool, owner: `${hostname()}:${process.pid}` },
    ...(typeof lease === "number" && { leaseMs: lease * 1_000 }),
    folder: join(bonsaiHome(io.env), "shared"),
  });
  const lost = new WeakSet<Session>();
  const created: Session[] = [];
  const close = async () => {
    try {
      await sessions.settled();
      for (const session of created)
        if (session.leafId === null && session.index().count === 0)
          // An empty session that stays is only a row of the list.
          await sessions.delete(session.id).catch(() => {});
    } catch (error) {
      // The user learned it when it happened.
      if (!BonsaiError.is(error) || error.code !== "session_lease_lost") throw error;
    } finally {
      await pool.end();
    }
  };
  let closed: Promise<void> | undefined;
  return {
    ...{ pool, sessions },
    follow(session, { onNotice, isNew = false }) {
      if (isNew) created.push(session);
      void sharedStoreOf(session)?.lost.then(({ code, message, hint }) => {
        lost.add(session);
        onNotice({ level: "warning", code, message: `${message} ${hint}` });
      });
      return session;
    },
    isLost: (session) => lost.has(session),
    close() {
      closed ??= close();
      return closed;
    },
  };
}

/** Runs a command with its database. */
export async function withDatabase<Result>(
  call: Call,
  work: (database: OpenDatabase) => Promise<Result>,
): Promise<Result> {
  const database = await openDatabase(call);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}
