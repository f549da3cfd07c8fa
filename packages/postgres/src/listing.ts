import type { SessionSummary } from "@bonsai-agent/session";
import type pg from "pg";
import { query, transaction } from "./database.ts";
import { FIND_TRIGRAMS } from "./schema.ts";

/** A shared session in a list. `lastActivityMs` is at most a minute late, and has microseconds: pages end exactly. */
export interface SharedSessionSummary extends Omit<SessionSummary, "file" | "version" | "digest"> {
  /** The host that works on it now. */
  owner?: string;
}

export interface ListOptions {
  cwd?: string;
  /** Default: 100 */
  limit?: number;
  /** The last session of a page, for the next page. */
  after?: Pick<SharedSessionSummary, "id" | "lastActivityMs">;
}

export interface SharedHit {
  sessionId: string;
  entryId: string;
  type: string;
  role?: string;
  timeMs?: number;
  /** The beginning of the text around the first match. */
  excerpt: string;
  rank: number;
}

export interface SearchOptions {
  cwd?: string;
  /** Default: 20 */
  limit?: number;
}

/** As `SharedSessions.list`. */
export async function listShared(
  pool: pg.Pool,
  { cwd, limit = 100, after }: ListOptions = {},
): Promise<SharedSessionSummary[]> {
  const values = [cwd ?? null, after?.lastActivityMs ?? null, after?.id ?? null, limit];
  return (await query<SharedSessionSummary>(pool, LIST, values)).map(withoutNulls);
}

/** Two words with one wrong letter have about half of their trigrams in common. */
const MIN_SIMILARITY = 0.4;

/** As `SharedSessions.search`. */
export async function searchShared(
  pool: pg.Pool,
  text: string,
  { cwd, limit = 20 }: SearchOptions = {},
): Promise<SharedHit[]> {
  const values = [text, cwd ?? null, limit];
  const byWords = await query<SharedHit>(pool, SEARCH, values);
  if (byWords.length > 0) return byWords.map(withoutNulls);
  return transaction(pool, async (connection) => {
    await query(connection, FIND_TRIGRAMS);
    await query(connection, `set local pg_trgm.word_similarity_threshold = ${MIN_SIMILARITY}`);
    return (await query<SharedHit>(connection, SEARCH_SIMILAR, values)).map(withoutNulls);
  });
}

const LIST = `
select id, cwd, name, first_words as "firstWords", parent_session as "parentSession",
  bytes::float8 as bytes, greatest(0, lines - 1)::float8 as lines,
  floor(extract(epoch from created_at) * 1000)::float8 as "createdMs",
  (extract(epoch from last_activity_at) * 1000)::float8 as "lastActivityMs",
  case when lease_until > clock_timestamp() then owner end as owner
from bonsai.sessions
where ($1::text is null or cwd = $1)
  and ($2::float8 is null or (last_activity_at, id) < (to_timestamp($2::float8 / 1000), $3::text))
order by last_activity_at desc, id desc limit $4`;

const HIT_COLUMNS = `t.session_id as "sessionId", t.entry_id as "entryId", t.type, t.role,
  floor(extract(epoch from t.at) * 1000)::float8 as "timeMs"`;
const IN_FOLDER =
  "($2::text is null or exists (select from bonsai.sessions s where s.id = t.session_id and s.cwd = $2))";

/** At most 2,000 matches are ranked: a common word has too many. */
const SEARCH = `
with q as (select websearch_to_tsquery('simple', $1) as words),
found as (
  select t.*, q.words as asked from bonsai.texts t, q
  where t.words @@ q.words and ${IN_FOLDER} limit 2000
)
select ${HIT_COLUMNS}, ts_rank_cd(words, asked) as rank,
  ts_headline('simple', left(body, 20000), asked, 'StartSel="", StopSel="", MaxWords=30, MinWords=10') as excerpt
from found t order by rank desc, at desc nulls last limit $3`;

const SEARCH_SIMILAR = `
select ${HIT_COLUMNS}, left(t.body, 200) as excerpt, word_similarity($1, left(t.body, 300)) as rank
from bonsai.texts t
where left(t.body, 300) %> $1 and ${IN_FOLDER}
order by rank desc, t.at desc nulls last limit $3`;

/** PostgreSQL sends null for an absent value. */
function withoutNulls<Row extends object>(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as Row;
}
