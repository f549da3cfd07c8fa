import type { BenchTable } from "@bonsai-agent/testkit";
import { type ChaosReport, runChaos } from "../test/chaos.ts";
import { testDatabase } from "../test/test-database.ts";

// Variables: CHAOS_SECONDS of faults (600 for a whole run), CHAOS_SESSIONS, CHAOS_LEASE_SECONDS (45 by default in Bonsai).
const number = (name: string, byDefault: number) => Number(process.env[name] ?? byDefault);
const DURATION_MS = number("CHAOS_SECONDS", 30) * 1_000;
const SESSIONS = number("CHAOS_SESSIONS", 200);
const LEASE_MS = number("CHAOS_LEASE_SECONDS", 2) * 1_000;
const CALM_MS = 15_000;
const END_MS = 300_000;

const ROWS: Record<string, (report: ChaosReport) => string | number> = {
  "jobs ended / jobs": ({ done, jobs }) => `${done} / ${jobs}`,
  "processes killed": ({ kills }) => kills,
  "processes paused past their lease": ({ pauses }) => pauses,
  "sessions taken from them": ({ takeovers }) => takeovers,
  "server restarts": ({ restarts }) => restarts,
  "connections cut during a commit": ({ cuts }) => cuts,
  "acknowledged entries": ({ acknowledged }) => acknowledged,
  "lost entries": ({ lost }) => lost,
  "late writes accepted": ({ lateWrites }) => lateWrites,
  "steps of two hosts at once": ({ doubleHosts }) => doubleHosts,
  "`once` calls run twice": ({ repeatedCalls }) => repeatedCalls,
  "missing or repeated prompts": ({ wrongPrompts }) => wrongPrompts,
  "damaged lines and gaps": ({ damages }) => damages,
  "processes that did not drain": ({ failedExits }) => failedExits,
};

export default async function bench(): Promise<BenchTable[]> {
  const database = await testDatabase();
  try {
    const report = await runChaos({
      ...{ database, sessions: SESSIONS, jobs: SESSIONS, leaseMs: LEASE_MS },
      ...{ durationMs: DURATION_MS, calmMs: CALM_MS, endMs: END_MS },
    });
    return [counts(report), recoveries(report)];
  } finally {
    await database.stop();
  }
}

function counts(report: ChaosReport): BenchTable {
  return {
    title: `${SESSIONS} sessions, 8 workers, ${DURATION_MS / 1_000} s of faults, leases of ${LEASE_MS / 1_000} s`,
    columns: ["count", "value"],
    rows: Object.entries(ROWS).map(([name, value]) => [name, `${value(report)}`]),
  };
}

/** Time to the next stored entry of each session that a killed process worked on. */
function recoveries({ recoveries, orphans }: ChaosReport): BenchTable {
  const row = (name: string, times: number[]) => {
    times.sort((a, b) => a - b);
    const at = (share: number) =>
      `${((times[Math.ceil(share * times.length) - 1] ?? 0) / 1_000).toFixed(1)} s`;
    return [name, at(0.5), at(0.95), at(1)];
  };
  return {
    title: "Recovery: time to the session's next stored entry",
    columns: ["from", "median", "95%", "maximum"],
    rows: [
      row(
        "death of the worker",
        recoveries.map(({ afterDeathMs }) => afterDeathMs),
      ),
      row(
        "end of its lease",
        recoveries.map(({ afterLeaseMs }) => afterLeaseMs),
      ),
    ],
    notes: [`${recoveries.length} of ${orphans} sessions had work left. Negative: before the lease's end.`],
  };
}
