import { chmodSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "@bonsai-agent/postgres-server";
import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import { initDatabase, openPool, type SharedSessions, sharedSessions } from "../src/index.ts";

/** Appends of one round. Rounds of plain inserts are between them, so that both have the same load. */
const APPENDS = 300;
const ROUNDS = 7;
const WRITERS = [1, 8, 32];
/** A million takes minutes: SHARED_ENTRIES=10000,100000,1000000 */
const SIZES = (process.env.SHARED_ENTRIES ?? "10000,100000").split(",").map(Number);
const LISTED = 10_000;
const PAGE = 100;
const TEXT = "One line of an answer about the cache and its keys. ".repeat(16);

type Pool = ReturnType<typeof openPool>;

export default async function bench(): Promise<BenchTable[]> {
  const folder = mkdtempSync(join(tmpdir(), "shared-bench-"));
  chmodSync(folder, 0o755);
  const server = await startPostgres({ folder: join(folder, "server") });
  const pool = openPool(server.url, { max: 40 });
  try {
    await initDatabase(pool);
    const sessions = sharedSessions({ pool, owner: "bench", folder: join(folder, "copies") });
    return [
      await appends(pool, sessions),
      await sizes(pool, sessions, folder),
      await lists(server.url, folder),
    ];
  } finally {
    await pool.end();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function seconds(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return (performance.now() - startMs) / 1_000;
}

const each = (count: number, work: (number: number) => Promise<void>) =>
  Promise.all(Array.from({ length: count }, (_, number) => work(number)));

/** Each append waits until the database has it; a plain insert stores the same bytes in a row. */
async function appends(pool: Pool, sessions: SharedSessions): Promise<BenchTable> {
  await pool.query(
    "create table plain (session_id text, from_byte bigint, data bytea, primary key (session_id, from_byte))",
  );
  const message = { type: "message", message: { role: "user", content: TEXT, timestamp: 1 } } as const;
  const line = Buffer.from(
    `${JSON.stringify({ ...message, id: "00000000", parentId: "00000000", timestamp: new Date().toISOString() })}\n`,
  );
  const rows: string[][] = [];
  for (const writers of WRITERS) {
    const count = Math.ceil(APPENDS / writers);
    const open = await Promise.all(Array.from({ length: writers }, () => sessions.create({ cwd: "/bench" })));
    const insert = (round: number) =>
      each(writers, async (writer) => {
        for (let at = 0; at < count; at += 1)
          await pool.query("insert into plain values ($1, $2, $3)", [
            open[writer]!.id,
            round * count + at,
            line,
          ]);
      });
    const append = () =>
      each(writers, async (writer) => {
        for (let at = 0; at < count; at += 1) {
          open[writer]!.append(message);
          await open[writer]!.durable();
        }
      });
    const rounds: { plain: number; shared: number }[] = [];
    for (let round = 0; round < ROUNDS; round += 1)
      rounds.push({ plain: await seconds(() => insert(round)), shared: await seconds(append) });
    for (const session of open) session.close();
    await sessions.settled();
    const rate = (times: number[]) => `${Math.round((writers * count) / median(times))}`;
    rows.push([
      ...[`${writers}`, rate(rounds.map(({ plain }) => plain)), rate(rounds.map(({ shared }) => shared))],
      median(rounds.map(({ plain, shared }) => plain / shared)).toFixed(2),
    ]);
  }
  return {
    title: "Durable appends a second",
    columns: ["writers", "plain inserts", "appends", "ratio"],
    rows,
  };
}

async function sizes(pool: Pool, sessions: SharedSessions, folder: string): Promise<BenchTable> {
  const rows: string[][] = [];
  for (const entries of SIZES) {
    const [file, id] = [join(folder, `${entries}.jsonl`), `size-${entries}`];
    generateSession({ file, entries, averageBytes: 700, compactions: entries / 5_000, id });
    const before = await bytesOf(pool, id);
    const push = await seconds(() => sessions.push(file));
    const after = await bytesOf(pool, id);
    const open = async (isWhole: boolean) => {
      const time = await seconds(async () => {
        const session = await sessions.open(id, { isWhole });
        session.projection();
        session.close();
      });
      await sessions.settled();
      return time;
    };
    const { size } = statSync(file);
    const share = (bytes: number) => (bytes / size).toFixed(2);
    rows.push([
      ...[`${entries}`, `${Math.round(size / 1e6)} MB`, `${push.toFixed(1)} s`],
      ...[
        ms(await open(false)),
        ms(await open(true)),
        `${Math.round(process.resourceUsage().maxRSS / 1e3)} MB`,
      ],
      ...[share(after.segments), share(after.texts - before.texts), share(after.index - before.index)],
    ]);
    rmSync(file);
  }
  return {
    title: "Sessions by entries; segments, texts and index as shares of the file",
    columns: ["entries", "file", "push", "resume", "open whole", "peak memory", "segments", "texts", "index"],
    rows,
  };
}

async function bytesOf(pool: Pool, id: string) {
  const { rows } = await pool.query<{ segments: number; texts: number; index: number }>(
    `select coalesce(sum(octet_length(data)), 0)::float as segments, pg_table_size('bonsai.texts')::float as texts,
       pg_indexes_size('bonsai.texts')::float as index from bonsai.segments where session_id = $1`,
    [id],
  );
  return rows[0]!;
}

/** Lists and searches short sessions with the texts of the first long one. One connection counts its scans. */
async function lists(url: string, folder: string): Promise<BenchTable> {
  const pool = openPool(url, { max: 1 });
  try {
    await pool.query(LISTED_SESSIONS, [LISTED]);
    await pool.query(LISTED_TEXTS, [LISTED, `size-${SIZES[0]}`]);
    await pool.query("vacuum analyze bonsai.texts, bonsai.sessions");
    const { rows: words } = await pool.query<{ word: string }>(WORDS);
    const [common, rare] = [words[0]!.word, words.at(-1)!.word];
    const misspelt = `${rare.slice(0, 3)}${rare.slice(4)}`;
    const sessions = sharedSessions({ pool, owner: "lists", folder: join(folder, "lists") });
    const scannedBefore = await scansOf(pool);
    const pages = await timesOfPages(sessions);
    const scanned = (await scansOf(pool)) - scannedBefore;
    const rows = [
      [`list all pages of ${PAGE}`, ms(median(pages)), ms(Math.max(...pages)), `${PAGE}`, `${scanned}`],
    ];
    const tasks: Record<string, () => Promise<unknown[]>> = {
      "list a folder": () => sessions.list({ cwd: "/work/7" }),
      [`search a rare word (${rare})`]: () => sessions.search(rare),
      [`search a common word (${common})`]: () => sessions.search(common),
      "search a common word in a folder": () => sessions.search(common, { cwd: "/work/7" }),
      [`search a misspelt word (${misspelt})`]: () => sessions.search(misspelt),
    };
    for (const [name, work] of Object.entries(tasks)) rows.push([name, ...(await measured(pool, work))]);
    return {
      title: `Lists and searches of ${LISTED} sessions with ${10 * LISTED} texts`,
      columns: ["task", "median", "maximum", "found", "scans of whole tables"],
      rows,
    };
  } finally {
    await pool.end();
  }
}

async function measured(pool: Pool, work: () => Promise<unknown[]>): Promise<string[]> {
  const scannedBefore = await scansOf(pool);
  const found = (await work()).length;
  const scanned = (await scansOf(pool)) - scannedBefore;
  const times: number[] = [];
  while (times.length < ROUNDS) times.push(await seconds(work));
  return [ms(median(times)), ms(Math.max(...times)), `${found}`, `${scanned}`];
}

const ms = (time: number) => `${Math.round(time * 1_000)} ms`;

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}

async function timesOfPages(sessions: SharedSessions): Promise<number[]> {
  const times: number[] = [];
  let page = await sessions.list({ limit: PAGE });
  while (page.length === PAGE) {
    const after = page.at(-1)!;
    times.push(
      await seconds(async () => {
        page = await sessions.list({ limit: PAGE, after });
      }),
    );
  }
  return times;
}

async function scansOf(pool: Pool): Promise<number> {
  await pool.query("select pg_stat_force_next_flush()");
  const { rows } = await pool.query<{ scans: number }>(
    "select sum(seq_scan)::int as scans from pg_stat_user_tables where relname in ('sessions', 'texts')",
  );
  return rows[0]!.scans;
}

const LISTED_SESSIONS = `
insert into bonsai.sessions (id, cwd, name, first_words, last_activity_at)
select 'listed-' || n, '/work/' || n % 100, 'Session ' || n, 'Please look at the tests of part ' || n,
  clock_timestamp() - n * interval '1 minute'
from generate_series(0, $1::int - 1) n`;

/** Ten texts for each session. */
const LISTED_TEXTS = `
insert into bonsai.texts (session_id, from_byte, entry_id, type, role, at, body)
select 'listed-' || n % $1::int, n, t.entry_id, t.type, t.role, t.at, t.body
from generate_series(0, 10 * $1::int - 1) n join (
  select row_number() over () - 1 as number, count(*) over () as count, * from bonsai.texts where session_id = $2
) t on t.number = n % t.count`;

/** The words of some texts, common ones first. */
const WORDS = `
select word from ts_stat($$select words from bonsai.texts where session_id like 'listed-1%'$$)
where word ~ '^[a-z]{6,10}$' order by ndoc desc`;
