import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import { BenchRun, type Measure } from "./bench-run.ts";
import { milliseconds, times } from "./figures.ts";
import type { TaskName } from "./tasks.ts";

const SIZES = [
  { entries: 1000, averageBytes: 700, compactions: 2 },
  { entries: 100_000, averageBytes: 700, compactions: 20 },
  { entries: 1_000_000, averageBytes: 700, compactions: 200 },
];
const TURNS = 200;
const APPENDS = 100_000;
const TARGET_PER_SECOND = 70_000;

export default async function bench(): Promise<BenchTable> {
  const run = new BenchRun();
  try {
    const turns = SIZES.map((size) => ({ ...size, measures: turnMeasures(run, size) }));
    const file = run.file("appends.jsonl");
    const appends = ["append ours", "append peer"] as const;
    const perSecond = run.available(appends).map((task) => {
      generateSession({ file, entries: 1000 });
      return { task, rate: APPENDS / (run.run(task, { file, count: APPENDS }).ms / 1000) };
    });
    return {
      title: "Appending: one message and the projection after it; and appends alone",
      columns: ["session", "way", "each"],
      rows: [
        ...turns.flatMap(({ entries, measures }) => turnRows(entries, measures)),
        ...perSecond.map(({ task, rate }) => [
          "1,000 entries",
          task,
          `${Math.round(rate).toLocaleString("en")} a second`,
        ]),
      ],
      notes: [growthNote(turns.map(({ measures }) => measures)), rateNote(perSecond[0]!.rate)],
    };
  } finally {
    run.end();
  }
}

type Measures = ReadonlyMap<TaskName, Measure>;

function turnMeasures(run: BenchRun, size: (typeof SIZES)[number]): Measures {
  const file = run.file("session.jsonl");
  generateSession({ file, ...size });
  return run.compare(["turns ours", "turns peer"], { file, count: TURNS });
}

function turnRows(entries: number, measures: Measures): string[][] {
  return [...measures].map(([task, { ms }]) => [
    `${entries.toLocaleString("en")} entries`,
    task,
    milliseconds(ms / TURNS),
  ]);
}

function growthNote(measures: readonly Measures[]): string {
  const ms = measures.map((each) => each.get("turns ours")!.ms);
  const growth = Math.max(...ms) / ms[0]!;
  return `Longest against shortest session: ${times(growth)} (target: independent of length, at most 2x: ${growth <= 2 ? "met" : "MISSED"}).`;
}

function rateNote(rate: number): string {
  const met = rate >= TARGET_PER_SECOND ? "met" : "MISSED";
  return `Appends at durability "process": target ${TARGET_PER_SECOND.toLocaleString("en")} a second: ${met}.`;
}
