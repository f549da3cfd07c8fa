import { mkdirSync } from "node:fs";
import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import { BenchRun } from "./bench-run.ts";
import { milliseconds, verdict } from "./figures.ts";

const SESSIONS = 1000;

export default async function bench(): Promise<BenchTable> {
  const run = new BenchRun();
  try {
    const folder = run.file("sessions");
    mkdirSync(folder);
    for (let seed = 0; seed < SESSIONS; seed++) {
      generateSession({ file: `${folder}/${seed}.jsonl`, seed, entries: 100, averageBytes: 2000 });
    }
    const measures = run.compare(["list naive", "list ours", "list peer"], { folder });
    const ours = measures.get("list ours")!;
    const rows = [...measures].map(([task, measure]) => [
      task,
      milliseconds(measure.ms),
      measure.result,
      task === "list ours" ? "" : verdict(measure.ms / ours.ms, 10),
    ]);
    return {
      title: "Listing 1,000 sessions of 200 KB: name, first words, last activity, size",
      columns: ["way", "time", "result", "ours is faster"],
      rows,
    };
  } finally {
    run.end();
  }
}
