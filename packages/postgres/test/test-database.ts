import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type PostgresServer, startPostgres } from "@bonsai-agent/postgres-server";
import type pg from "pg";
import { initDatabase, openPool, type SharedSessions, sharedSessions } from "../src/index.ts";

/** A server with Bonsai's tables, and any number of hosts. */
export interface TestDatabase {
  server: PostgresServer;
  pool: pg.Pool;
  /** Another host: sessions with a folder and a pool of their own. */
  host(name: string, options?: { leaseMs?: number; folder?: string }): SharedSessions & { folder: string };
  stop(): Promise<void>;
}

/** Starts a server on a folder of its own; crashes of the machine are not part of these tests. */
export async function testDatabase(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), "postgres-"));
  // Under root, the server has another user.
  chmodSync(folder, 0o755);
  const server = await startPostgres({
    folder: join(folder, "server"),
    settings: { fsync: "off" },
  });
  const pools: pg.Pool[] = [];
  const newPool = () => {
    const pool = openPool(server.url, { max: 8 });
    pools.push(pool);
    return pool;
  };
  const pool = newPool();
  await initDatabase(pool);
  return {
    ...{ server, pool },
    host: (name, { leaseMs = 2_000, folder: own = join(folder, name) } = {}) =>
      Object.assign(sharedSessions({ pool: newPool(), owner: name, leaseMs, folder: own }), { folder: own }),
    stop: async () => {
      await Promise.all(pools.map((each) => each.end()));
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A user's message. */
export function userMessage(text: string) {
  return { type: "message", message: { role: "user", content: text, timestamp: 1 } } as const;
}
