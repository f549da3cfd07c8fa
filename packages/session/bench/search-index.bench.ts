import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import { BenchRun } from "./bench-run.ts";
import { megabytes, milliseconds, verdict } from "./figures.ts";

interface Recorded {
  sessions: number;
  entries: number;
  averageBytes: number;
  rounds: number;
}

const RECORDED: readonly Recorded[] = [
  { sessions: 50, entries: 2000, averageBytes: 2000, rounds: 3 },
  { sessions: 1, entries: 1_000_000, averageBytes: 500, rounds: 1 },
];
const FASTER = 5;

const QUERIES: readonly (readonly [what: string, query: string])[] = [
  ["two words that many have", "the tests"],
  ["a part of an identifier", "dRouter"],
  ["a phrase", '"all 134 of them pass"'],
  ["two characters", "ão"],
  ["what nothing holds", "zzzneedle"],
];

/** Beside the scan that finds the same. */
export default async function bench(): Promise<BenchTable> {
  const run = new BenchRun();
  try {
    const measured = RECORDED.map((recorded) => measuredIn(run, recorded));
    return {
      title: "Searching recorded sessions",
      columns: ["entries", "query", "by the index", "by a scan", "the index is faster", "result"],
      rows: measured.flatMap(({ rows }) => rows),
      notes: [
        ...measured.map(({ note }) => note),
        "The first query of a process, the opening of the index included.",
      ],
    };
  } finally {
    run.end();
  }
}

function measuredIn(run: BenchRun, recorded: Recorded): { rows: string[][]; note: string } {
  const { sessions, entries, rounds } = recorded;
  const folder = run.file(`home-${sessions}`);
  const bytes = writeSessions(join(folder, "sessions/-home-dev-shop"), recorded);
  const indexing = run.run("search indexing", { folder });
  const index = readdirSync(join(folder, "index")).map((name) => statSync(join(folder, "index", name)).size);
  const many = (sessions * entries).toLocaleString("en");
  const rows = QUERIES.map(([what, query]) => {
    const measures = run.compare(["search index", "search scan"], { folder, query }, rounds);
    const [ours, scan] = [measures.get("search index")!, measures.get("search scan")!];
    const ratio = verdict(scan.ms / ours.ms, FASTER);
    return [many, what, milliseconds(ours.ms), milliseconds(scan.ms), ratio, ours.result];
  });
  const size = megabytes(index.reduce((sum, each) => sum + each, 0));
  const took = `in ${milliseconds(indexing.ms)} (${indexing.result}, ${megabytes(indexing.peakBytes)} of memory)`;
  return {
    rows,
    note: `${many} entries (${megabytes(bytes)}) indexed once, in a thread, ${took}; the index has ${size}.`,
  };
}

function writeSessions(folder: string, { sessions, entries, averageBytes }: Recorded): number {
  mkdirSync(folder, { recursive: true });
  let bytes = 0;
  for (let seed = 0; seed < sessions; seed++) {
    const file = join(folder, `${seed}.jsonl`);
    bytes += generateSession({ file, seed, entries, averageBytes }).bytes;
  }
  return bytes;
}
