import { type BenchTable, generateSession } from "@bonsai-agent/testkit";
import { BenchRun } from "./bench-run.ts";
import { milliseconds, times, verdict } from "./figures.ts";
import type { TaskName } from "./tasks.ts";

const ENTRIES = 10_000;
const WORK = [
  { what: "tree of all branches", ours: "tree ours", peer: "tree peer", branchiness: 0.02, target: 5 },
  { what: "resume on a short branch", ours: "open ours", peer: "open peer", branchiness: 0.1, target: 10 },
] as const;

/** Opening included; pi parses the whole file for both. */
export default async function bench(): Promise<BenchTable> {
  const run = new BenchRun();
  try {
    const rows = WORK.map(({ what, ours, peer, branchiness, target }) => {
      const file = run.file("session.jsonl");
      generateSession({ file, entries: ENTRIES, branchiness });
      const measures = run.compare([ours, peer] satisfies TaskName[], { file }, 5);
      const [own, other] = [measures.get(ours)!, measures.get(peer)];
      const ratio =
        other === undefined ? `no pi (target ${times(target)})` : verdict(other.ms / own.ms, target);
      return [what, milliseconds(own.ms), other === undefined ? "" : milliseconds(other.ms), ratio];
    });
    return {
      title: `A session of ${ENTRIES.toLocaleString("en")} entries with branches`,
      columns: ["work", "ours", "peer", "ours is faster"],
      rows,
    };
  } finally {
    run.end();
  }
}
