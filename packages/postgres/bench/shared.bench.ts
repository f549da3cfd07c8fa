import { chmodSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "@bonsai-agent/postgres-server";
import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import { initDatabase, openPool, type SharedSessions, sharedSessions } from "../src/index.ts";

const APPENDS = 1_500;
const WRITERS = [1, 8, 32];
const SIZES = [10_000, 100_000];
const LISTED = 10_000;
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
    return [await appends(pool, sessions), await sizes(pool, sessions, folder), await lists(pool, sessions)];
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
    const plain = await seconds(() =>
      each(writers, async (writer) => {
        for (let at = 0; at < count; at += 1)
          await pool.query("insert into plain values ($1, $2, $3)", [`${writers}.${writer}`, at, line]);
      }),
    );
    const open = await Promise.all(Array.from({ length: writers }, () => sessions.create({ cwd: "/bench" })));
    const shared = await seconds(() =>
      each(writers, async (writer) => {
        for (let at = 0; at < count; at += 1) {
          open[writer]!.append(message);
          await open[writer]!.durable();
        }
      }),
    );
    for (const session of open) session.close();
    await sessions.settled();
    const rate = (time: number) => Math.round((writers * count) / time);
    rows.push([`${writers}`, `${rate(plain)}`, `${rate(shared)}`, (plain / shared).toFixed(2)]);
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
    const file = join(folder, `${entries}.jsonl`);
    generateSession({
      file,
      entries,
      averageBytes: 700,
      compactions: entries / 5_000,
      id: `size-${entries}`,
    });
    const push = await seconds(() => sessions.push(file));
    const resume = await seconds(async () => {
      const session = await sessions.open(`size-${entries}`);
      session.projection();
      session.close();
    });
    await sessions.settled();
    const sum = "select sum(octet_length(data)) as bytes from bonsai.segments where session_id = $1";
    const { rows: stored } = await pool.query<{ bytes: string }>(sum, [`size-${entries}`]);
    const ratio = Number(stored[0]!.bytes) / statSync(file).size;
    rows.push([`${entries}`, `${push.toFixed(1)} s`, `${Math.round(resume * 1_000)} ms`, ratio.toFixed(2)]);
  }
  return {
    title: "Sessions by entries",
    columns: ["entries", "push", "resume", "stored bytes / bytes"],
    rows,
  };
}

async function lists(pool: Pool, sessions: SharedSessions): Promise<BenchTable> {
  await pool.query(
    "insert into bonsai.sessions (id, cwd, name, first_words) select 'listed-' || n, '/work', 'Session ' || n, 'words' from generate_series(1, $1::int) n",
    [LISTED],
  );
  const milliseconds = async (work: () => Promise<unknown>) =>
    `${Math.round((await seconds(work)) * 1_000)} ms`;
  return {
    title: `Lists of ${LISTED} sessions`,
    columns: ["task", "time"],
    rows: [
      ["list the latest 100", await milliseconds(() => sessions.list())],
      ["list all", await milliseconds(() => sessions.list({ limit: LISTED }))],
      ["search a word", await milliseconds(() => sessions.search("cache"))],
    ],
  };
}
