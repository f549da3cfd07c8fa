import { BonsaiError } from "@bonsai-agent/messages";
import type pg from "pg";
import { type Database, query, transaction } from "./database.ts";

/** Finds the extension in this transaction, whatever schema it is in. */
export const FIND_TRIGRAMS = `select set_config('search_path', quote_ident(n.nspname), true)
from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_trgm'`;

// The tables. Every primary key begins with the session's id, so that the tables can be sharded by it.

/** One step of the schema. Steps are only added, never changed. */
const MIGRATIONS: readonly string[] = [
  `
create extension if not exists pg_trgm;
${FIND_TRIGRAMS};

-- The row of a session is also its lock: each append updates it if its fence is still that of the writer.
create table bonsai.sessions (
  id text primary key,
  -- The role that created the session. Policies compare it with the current role, which nobody can change with SET.
  tenant text not null default current_user,
  cwd text not null,
  parent_session text,
  name text,
  first_words text,
  created_at timestamptz not null default clock_timestamp(),
  -- At most a minute late, so that most appends change no indexed column (HOT updates).
  last_activity_at timestamptz not null default clock_timestamp(),
  bytes bigint not null default 0,
  lines bigint not null default 0,
  -- The searched texts before this byte are stored.
  indexed_bytes bigint not null default 0,
  fence bigint not null default 0,
  owner text,
  lease_until timestamptz,
  -- Appends notify until then.
  watched_until timestamptz
) with (fillfactor = 70);
create index sessions_activity on bonsai.sessions (last_activity_at desc);
create index sessions_cwd on bonsai.sessions (cwd, last_activity_at desc);

-- Whole lines of the session's file, compressed.
create table bonsai.segments (
  session_id text not null references bonsai.sessions on delete cascade,
  from_byte bigint not null,
  to_byte bigint not null,
  fence bigint not null,
  stored_at timestamptz not null default clock_timestamp(),
  tenant text not null default current_user,
  -- 0: as it is, 1: zstd.
  codec smallint not null,
  data bytea not null,
  primary key (session_id, from_byte)
);
alter table bonsai.segments alter column data set storage external;

-- The ledger of tool calls.
create table bonsai.calls (
  session_id text not null references bonsai.sessions on delete cascade,
  call_id text not null,
  tool text not null,
  effects text not null check (effects in ('none', 'idempotent', 'once')),
  state text not null check (state in ('asked', 'started', 'settled')),
  fence bigint not null,
  changed_at timestamptz not null default clock_timestamp(),
  tenant text not null default current_user,
  primary key (session_id, call_id)
);

-- The searched texts, with secrets redacted.
create table bonsai.texts (
  session_id text not null references bonsai.sessions on delete cascade,
  from_byte bigint not null,
  entry_id text not null,
  type text not null,
  role text,
  at timestamptz,
  body text not null,
  words tsvector generated always as (to_tsvector('simple', left(body, 100000))) stored,
  tenant text not null default current_user,
  primary key (session_id, from_byte)
);
create index texts_words on bonsai.texts using gin (words);
-- The beginning is enough for misspelt words: an index over all text is larger than the text.
create index texts_trigrams on bonsai.texts using gin (left(body, 300) gin_trgm_ops);

-- Retention: nothing calls this function by itself.
create function bonsai.forget_sessions(older_than interval, at_most integer default 1000) returns bigint
language sql as $$
  with old as (
    select id from bonsai.sessions
    where last_activity_at < clock_timestamp() - older_than
      and coalesce(lease_until, '-infinity') < clock_timestamp()
    order by last_activity_at limit at_most for update skip locked
  ), gone as (delete from bonsai.sessions s using old where s.id = old.id returning 1)
  select count(*) from gone
$$;
`,
  `
-- Requests for summaries that any worker may make, and their answers, until the owner has stored the compaction.
create table bonsai.drafts (
  session_id text not null references bonsai.sessions on delete cascade,
  request_hash text not null,
  -- The host that asked last.
  fence bigint not null,
  asked_at timestamptz not null default clock_timestamp(),
  tenant text not null default current_user,
  model text not null,
  request text not null,
  -- Grows with each worker that takes it.
  attempt integer not null default 0,
  worker_until timestamptz,
  answer text,
  primary key (session_id, request_hash)
);
create index drafts_open on bonsai.drafts (asked_at) where answer is null;
`,
];

/** Locks the migration: hosts of one deployment may start at once. */
const MIGRATION_LOCK = 4_207_265_521;

/** The state of the tables. */
export interface DatabaseStatus {
  /** Version of the tables; 0 for none. */
  version: number;
  /** Version that this program needs. */
  wanted: number;
  sessions: number;
  /** Sessions that a host works on now. */
  leased: number;
  /** Bytes of the session files. */
  bytes: number;
  /** Bytes of the table of compressed segments. */
  storedBytes: number;
  /** Bytes of all tables and indexes. */
  databaseBytes: number;
  /** Version of the server, such as 18.4. */
  server: string;
}

/** Creates the tables, or brings older ones up to date. A second call changes nothing. @throws BonsaiError `database_failed` */
export async function initDatabase(pool: pg.Pool): Promise<{ from: number; to: number }> {
  return transaction(pool, async (connection) => {
    await query(connection, "select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    await query(connection, "create schema if not exists bonsai");
    await query(
      connection,
      "create table if not exists bonsai.migrations (version integer primary key, applied_at timestamptz not null default clock_timestamp())",
    );
    const from = await versionOf(connection);
    for (let version = from + 1; version <= MIGRATIONS.length; version += 1) {
      await connection.query(MIGRATIONS[version - 1]!);
      await query(connection, "insert into bonsai.migrations (version) values ($1)", [version]);
    }
    return { from, to: Math.max(from, MIGRATIONS.length) };
  });
}

async function versionOf(database: Database): Promise<number> {
  const [row] = await query<{ version: number | null }>(
    database,
    "select max(version) as version from bonsai.migrations",
  );
  return row?.version ?? 0;
}

/** @throws BonsaiError `database_failed` */
export async function databaseStatus(pool: pg.Pool): Promise<DatabaseStatus> {
  const [server] = await query<{ server_version: string }>(pool, "show server_version");
  const base = { wanted: MIGRATIONS.length, server: server!.server_version };
  const none = { version: 0, sessions: 0, leased: 0, bytes: 0, storedBytes: 0, databaseBytes: 0 };
  try {
    const version = await versionOf(pool);
    const [row] = await query<Record<keyof typeof none, string>>(
      pool,
      `select count(*) as sessions, count(*) filter (where lease_until > clock_timestamp()) as leased,
         coalesce(sum(bytes), 0) as bytes,
         pg_total_relation_size('bonsai.segments') as "storedBytes",
         (select coalesce(sum(pg_total_relation_size(c.oid)), 0) from pg_class c
          join pg_namespace n on n.oid = c.relnamespace
          where n.nspname = 'bonsai' and c.relkind = 'r') as "databaseBytes"
       from bonsai.sessions`,
    );
    const counts = Object.fromEntries(Object.entries(row!).map(([key, value]) => [key, Number(value)]));
    return { ...base, ...none, ...counts, version };
  } catch (error) {
    if (BonsaiError.is(error) && error.code === "database_not_initialised") return { ...base, ...none };
    throw error;
  }
}
