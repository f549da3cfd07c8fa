import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import { BenchRun } from "./bench-run.ts";
import { megabytes, milliseconds, verdict } from "./figures.ts";

const SESSIONS = 50;
const ENTRIES = 2000;
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
    const folder = run.file("home");
    const bytes = writeSessions(join(folder, "sessions/-home-dev-shop"));
    const indexing = run.run("search indexing", { folder });
    const index = readdirSync(join(folder, "index")).map(
      (name) => statSync(join(folder, "index", name)).size,
    );
    const rows = QUERIES.map(([what, query]) => {
      const measures = run.compare(["search index", "search scan"], { folder, query });
      const [ours, scan] = [measures.get("search index")!, measures.get("search scan")!];
      return [
        what,
        milliseconds(ours.ms),
        milliseconds(scan.ms),
        verdict(scan.ms / ours.ms, FASTER),
        ours.result,
      ];
    });
    return {
      title: `Searching ${SESSIONS * ENTRIES} entries in ${SESSIONS} sessions (${megabytes(bytes)})`,
      columns: ["query", "by the index", "by a scan", "the index is faster", "result"],
      rows,
      notes: [
        `Indexed once, in small steps, in ${milliseconds(indexing.ms)} (${indexing.result}); the index has ${megabytes(index.reduce((sum, size) => sum + size, 0))}.`,
        "The first query of a process, the opening of the index included.",
      ],
    };
  } finally {
    run.end();
  }
}

function writeSessions(folder: string): number {
  mkdirSync(folder, { recursive: true });
  let bytes = 0;
  for (let seed = 0; seed < SESSIONS; seed++) {
    bytes += generateSession({
      file: join(folder, `${seed}.jsonl`),
      seed,
      entries: ENTRIES,
      averageBytes: 2000,
    }).bytes;
  }
  return bytes;
}
