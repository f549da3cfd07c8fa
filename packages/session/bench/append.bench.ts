import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import { BenchRun } from "./bench-run.ts";
import { milliseconds, times } from "./figures.ts";
import type { TaskName } from "./tasks.ts";

const SIZES = [
  { entries: 1000, averageBytes: 700, compactions: 2 },
  { entries: 100_000, averageBytes: 700, compactions: 20 },
  { entries: 1_000_000, averageBytes: 700, compactions: 200 },
];
/** The peer builds its context anew for each turn, in time that grows with the session. */
const TURNS = { "turns ours": 200, "turns peer": 5 } as const;
type TurnTask = keyof typeof TURNS;
const APPENDS = 100_000;
const TARGET_PER_SECOND = 70_000;

export default async function bench(): Promise<BenchTable> {
  const run = new BenchRun();
  try {
    const turns = SIZES.map((size) => ({ ...size, measures: turnMeasures(run, size) }));
    const file = run.file("appends.jsonl");
    const appends = ["append naive", "append ours", "append peer"] as const;
    generateSession({ file, entries: 1000 });
    const rates = [...run.compare(appends, { file, count: APPENDS })].map(([task, { ms }]) => ({
      task,
      rate: APPENDS / (ms / 1000),
    }));
    return {
      title: "Appending: one message and the projection after it; and appends alone",
      columns: ["session", "way", "each"],
      rows: [
        ...turns.flatMap(({ entries, measures }) => turnRows(entries, measures)),
        ...rates.map(({ task, rate }) => [
          "1,000 entries",
          task,
          `${Math.round(rate).toLocaleString("en")} a second`,
        ]),
      ],
      notes: [growthNote(turns.map(({ measures }) => measures)), rateNote(rates)],
    };
  } finally {
    run.end();
  }
}

/** Milliseconds for each turn. */
type TurnMeasures = ReadonlyMap<TurnTask, number>;

function turnMeasures(run: BenchRun, size: (typeof SIZES)[number]): TurnMeasures {
  const file = run.file("session.jsonl");
  generateSession({ file, ...size });
  const tasks = run.available(["turns ours", "turns peer"]) as TurnTask[];
  return new Map(tasks.map((task) => [task, perTurnMs(run, task, file)]));
}

function perTurnMs(run: BenchRun, task: TurnTask, file: string): number {
  const count = TURNS[task];
  const rounds = task === "turns ours" ? 3 : 1;
  return run.compare([task], { file, count }, rounds).get(task)!.ms / count;
}

function turnRows(entries: number, measures: TurnMeasures): string[][] {
  return [...measures].map(([task, ms]) => [
    `${entries.toLocaleString("en")} entries`,
    task,
    milliseconds(ms),
  ]);
}

function growthNote(measures: readonly TurnMeasures[]): string {
  const ms = measures.map((each) => each.get("turns ours")!);
  const growth = Math.max(...ms) / ms[0]!;
  return `Longest against shortest session: ${times(growth)} (target: independent of length, at most 2x: ${growth <= 2 ? "met" : "MISSED"}).`;
}

function rateNote(rates: ReadonlyArray<{ task: TaskName; rate: number }>): string {
  const rate = (wanted: TaskName) => rates.find(({ task }) => task === wanted)!.rate;
  const ours = rate("append ours");
  const met = ours >= TARGET_PER_SECOND ? "met" : "MISSED";
  const share = Math.round((100 * ours) / rate("append naive"));
  return `Appends at durability "process": target ${TARGET_PER_SECOND.toLocaleString("en")} a second: ${met}; ${share}% of bare writes of the same lines.`;
}
