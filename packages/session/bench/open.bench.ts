import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import { BenchRun, type Measure } from "./bench-run.ts";
import { megabytes, milliseconds, times, verdict } from "./figures.ts";
import type { TaskName } from "./tasks.ts";

const SIZES = [
  { entries: 100_000, averageBytes: 1950, compactions: 20, rounds: 3 },
  { entries: 1_000_000, averageBytes: 700, compactions: 200, rounds: 1 },
];

export default async function bench(): Promise<BenchTable> {
  const run = new BenchRun();
  try {
    const bare = run.compare(["loaded"], {}).get("loaded")!;
    const node = run.compare(["bare"], {}).get("bare")!;
    const runs = SIZES.map((size) => {
      const file = run.file("session.jsonl");
      const { bytes } = generateSession({ file, ...size, seed: 1 });
      const others = run.compare(["open naive", "open peer"], { file }, size.rounds);
      return { ...size, bytes, measures: new Map([...others, ...run.compare(["open ours"], { file }, 5)]) };
    });
    return {
      title: "Opening a compacted session, with the first projection",
      columns: ["session", "way", "time", "memory above bare", "result", "ours is faster"],
      rows: runs.flatMap(({ entries, bytes, measures }) =>
        rows({ session: `${entries.toLocaleString("en")} entries, ${megabytes(bytes)}`, measures, bare }),
      ),
      notes: notes({ node, bare, small: runs[0]!.measures, large: runs[1]!.measures }),
    };
  } finally {
    run.end();
  }
}

type Measures = ReadonlyMap<TaskName, Measure>;

function rows({
  session,
  measures,
  bare,
}: {
  session: string;
  measures: Measures;
  bare: Measure;
}): string[][] {
  const ours = measures.get("open ours")!;
  return [...measures].map(([task, { ms, peakBytes, result }]) => [
    session,
    task,
    milliseconds(ms),
    megabytes(peakBytes - bare.peakBytes),
    result,
    task === "open naive" ? verdict(ms / ours.ms, 200) : task === "open ours" ? "" : times(ms / ours.ms),
  ]);
}

interface Noted {
  node: Measure;
  bare: Measure;
  small: Measures;
  large: Measures;
}

function notes({ node, bare, small, large }: Noted): string[] {
  const [a, b] = [small, large].map((measures) => measures.get("open ours")!) as [Measure, Measure];
  const memory = Math.max(a.peakBytes, b.peakBytes) - bare.peakBytes;
  const ratio = b.ms / a.ms;
  return [
    `The bare process has loaded the package and opened nothing: ${megabytes(bare.peakBytes)}, Node alone ${megabytes(node.peakBytes)}.`,
    `Ours above the bare process: ${megabytes(memory)} (target 15 MB: ${memory <= 15e6 ? "met" : "MISSED"}).`,
    `1,000,000 against 100,000 entries: ${times(ratio)} (target at most 2x: ${ratio <= 2 ? "met" : "MISSED"}).`,
  ];
}
