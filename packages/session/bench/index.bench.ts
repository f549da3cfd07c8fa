import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import { BenchRun } from "./bench-run.ts";
import { megabytes, milliseconds, times, verdict } from "./figures.ts";

const SIZES = [
  { entries: 100_000, averageBytes: 1950, rounds: 3 },
  { entries: 1_000_000, averageBytes: 700, rounds: 1 },
];

export default async function bench(): Promise<BenchTable> {
  const run = new BenchRun();
  try {
    const bare = run.run("loaded").peakBytes;
    return {
      title: "Every entry by id, parent, type and place",
      columns: ["session", "way", "time", "memory above bare", "ours is faster", "ours needs of its memory"],
      rows: SIZES.flatMap((size) => rows(run, { ...size, bare })),
    };
  } finally {
    run.end();
  }
}

function rows(run: BenchRun, size: (typeof SIZES)[number] & { bare: number }): string[][] {
  const file = run.file("session.jsonl");
  generateSession({ file, ...size, branchiness: 0.1, compactions: 10 });
  const measures = run.compare(["open naive", "index ours"], { file }, size.rounds);
  const [naive, ours] = [measures.get("open naive")!, measures.get("index ours")!];
  const share = (ours.peakBytes - size.bare) / (naive.peakBytes - size.bare);
  const session = `${size.entries.toLocaleString("en")} entries`;
  const memory = (peakBytes: number) => megabytes(peakBytes - size.bare);
  const needs = `${times(1 / share)} less (target 4x: ${share < 0.25 ? "met" : "MISSED"})`;
  return [
    [
      session,
      "parse everything",
      milliseconds(naive.ms),
      memory(naive.peakBytes),
      verdict(naive.ms / ours.ms, 5),
      needs,
    ],
    [session, "ours", milliseconds(ours.ms), memory(ours.peakBytes), "", ""],
  ];
}
