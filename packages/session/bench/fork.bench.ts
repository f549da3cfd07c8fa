import { mkdirSync } from "node:fs";
import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import { BenchRun } from "./bench-run.ts";
import { milliseconds, verdict } from "./figures.ts";

/** The time of pi 0.87.1 on two cores: the target if pi is not installed. */
const PEER_MS = 2300;

export default async function bench(): Promise<BenchTable> {
  const run = new BenchRun();
  try {
    const folder = run.file("forks");
    mkdirSync(folder);
    const { file } = generateSession({
      file: run.file("session.jsonl"),
      entries: 100_000,
      averageBytes: 1950,
      branchiness: 0.001,
      compactions: 5,
    });
    const measures = run.compare(["fork ours", "fork peer"], { file, folder });
    const ours = measures.get("fork ours")!;
    const recorded = ["recorded peer", milliseconds(PEER_MS), "", verdict(PEER_MS / ours.ms, 5)];
    const rows = [...measures].map(([task, { ms, result }]) => [
      task,
      milliseconds(ms),
      result,
      task === "fork ours" ? "" : verdict(ms / ours.ms, 5),
    ]);
    return {
      title: "Forking a session of 100,000 entries, the opening included",
      columns: ["way", "time", "result", "ours is faster"],
      rows: measures.has("fork peer") ? rows : [...rows, recorded],
    };
  } finally {
    run.end();
  }
}
