import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import { SessionSearch } from "../src/search/index.ts";

const HOMES = [
  { sessions: 1, entries: 600, targetMs: 3 },
  { sessions: 1000, entries: 60, targetMs: 50 },
];
const AVERAGE_BYTES = 1000;
const ROUNDS = 25;
const HITS = 10;
const QUERIES = [
  "the tests",
  "dRouter",
  "zzzneedle",
  '"of them pass"',
  "Where did we decide to retry the webhook of the payment provider?",
];

/** Median query times with an open index, compared with a plain FTS5 table of the same lines in memory. */
export default async function bench(): Promise<BenchTable> {
  const rows: string[][] = [];
  for (const home of HOMES) rows.push(...(await measuredIn(home)));
  return {
    title: `A query for ${HITS} hits in an indexed home folder`,
    columns: ["sessions", "entries", "query", "ms", "target", "plain FTS5, ms"],
    rows,
  };
}

async function measuredIn({ sessions, entries, targetMs }: (typeof HOMES)[number]): Promise<string[][]> {
  const home = mkdtempSync(join(tmpdir(), "bonsai-search-time-"));
  const folder = join(home, "sessions/-home-dev-shop");
  mkdirSync(folder, { recursive: true });
  for (let seed = 0; seed < sessions; seed += 1)
    generateSession({
      ...{ file: join(folder, `${seed}.jsonl`), seed, entries, averageBytes: AVERAGE_BYTES },
    });
  const search = new SessionSearch({ home });
  await search.catchUp();
  const plain = plainTable(folder);
  const rows: string[][] = [];
  for (const query of QUERIES) {
    const ours = await medianMs(() => search.find(query, { limit: HITS }));
    const words = (query.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => `"${word}"`).join(" OR ");
    const theirs = await medianMs(async () => plain.all(words));
    const verdict = `${targetMs} (${ours <= targetMs ? "met" : "MISSED"})`;
    rows.push([`${sessions}`, `${sessions * entries}`, query, ours.toFixed(1), verdict, theirs.toFixed(1)]);
  }
  search.close();
  rmSync(home, { recursive: true });
  return rows;
}

function plainTable(folder: string) {
  const database = new DatabaseSync(":memory:");
  database.exec("CREATE VIRTUAL TABLE line USING fts5 (body, tokenize = 'porter unicode61')");
  const insert = database.prepare("INSERT INTO line (body) VALUES (?)");
  for (const name of readdirSync(folder))
    for (const line of readFileSync(join(folder, name), "utf8").split("\n")) insert.run(line);
  return database.prepare(`SELECT rowid FROM line WHERE line MATCH ? ORDER BY rank LIMIT ${HITS}`);
}

async function medianMs(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    await work();
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)]!;
}
