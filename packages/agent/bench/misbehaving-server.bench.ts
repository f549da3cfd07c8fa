import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BenchTable, type WireName, wires } from "@bonsai-agent/testkit";
import { type FaultName, faults } from "../test/misbehaving-server.ts";
import { type FaultOutcome, runFault } from "./run-fault.ts";

/** Each fault in each protocol, and how the agent's run ended. No figure of speed: a table to read. */
export default async function bench(): Promise<BenchTable> {
  const names = Object.keys(wires) as WireName[];
  const folder = mkdtempSync(join(tmpdir(), "bonsai-faults-"));
  const rows: string[][] = [];
  try {
    for (const fault of Object.keys(faults) as FaultName[]) {
      const row: string[] = [fault];
      for (const wire of names) row.push(shown(await runFault({ wire, fault, folder })));
      rows.push(row);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  const notes = [
    "Ended: with the error's code, how many requests went out, and the notices.",
    "Behind each run the session's file is sound, and the next prompt is answered, unless it says otherwise.",
  ];
  return { title: "misbehaving server", columns: ["fault", ...names], rows, notes };
}

function shown({ status, code, requests, notices, problems, next }: FaultOutcome): string {
  const ended = [code ?? status, `${requests} req`, notices.join("+")].filter((part) => part !== "");
  const isWell = problems.length === 0 && next === "All is well.";
  return `${ended.join(", ")}${isWell ? "" : ` — ${problems.join(" ")} next: ${next}`}`;
}
