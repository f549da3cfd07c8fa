import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The printed table of a bench: ratios and figures of one run. */
export interface BenchTable {
  title: string;
  columns: string[];
  rows: string[][];
  notes?: string[];
}

/** The path of a recorded working day of a coding agent beside the repository, if there is one. */
export function recordedSession(): string | undefined {
  const path = fileURLToPath(new URL("../../../../shared/fixtures/pi-large-session.jsonl", import.meta.url));
  return existsSync(path) ? path : undefined;
}
